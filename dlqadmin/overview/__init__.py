"""Is anything wrong, is it new, and what must I do first?"""
