import java.io.File;
import org.codehaus.janino.Compiler;

/** Compiles a source file into a folder, where there is no JDK: folder, then file. */
public class Compile {
    public static void main(String[] arguments) throws Exception {
        Compiler compiler = new Compiler();
        compiler.setDestinationDirectory(new File(arguments[0]), false);
        compiler.setClassPath(classPath());
        compiler.compile(new File[] {new File(arguments[1])});
    }

    private static File[] classPath() {
        String[] names = System.getProperty("java.class.path").split(File.pathSeparator);
        File[] files = new File[names.length];
        for (int i = 0; i < names.length; i++) {
            files[i] = new File(names[i]);
        }
        return files;
    }
}
