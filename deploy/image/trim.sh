#!/bin/sh
# Delete what no process of the images reads from the virtual environment $1. tests/images measures the images and runs them.
set -eu
cd "$1"/lib/python3.*/site-packages

# Tests, headers and sources of extension modules.
find . -type d -name tests -prune -exec rm -r {} +
rm -rf pyarrow/include pyarrow/src numpy/*/include
find . \( -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.a' -o -name '*.pyi' \) -delete

# Parts of Arrow: neither exports nor connectors use its RPC or its own clients of object stores.
rm -f pyarrow/*flight* pyarrow/libarrow_s3.so.* pyarrow/_s3fs.* pyarrow/*gcsfs* pyarrow/*azurefs* pyarrow/_hdfs.*
for library in pyarrow/lib*.so.[0-9]*.[0-9]*; do # copies of lib*.so.<major>, which the others are linked with
    if [ -e "$library" ]; then rm "$library"; fi
done

# Spark's libraries for SQL warehouses, machine learning, Spark Connect and state stores of streaming queries, and those for
# other operating systems. Leases are jobs of RDDs on a local, standalone, YARN or Kubernetes master.
if [ -d pyspark ]; then
    (cd pyspark/jars && rm -f rocksdbjni-* leveldbjni-* hive-* datanucleus-* derby* HikariCP-* bonecp-* libthrift-* \
        spark-mllib* spark-hive* spark-connect* spark-graphx* spark-repl* scala-compiler-* breeze* spire* cats-kernel* \
        algebra_* lapack-* arpack* blas-* JTransforms* jts-core-* *-osx-* *-windows-* kubernetes-model-gatewayapi-*)
    rm -rf pyspark/examples pyspark/data pyspark/licenses pyspark/R pyspark/sbin pyspark/pandas pyspark/ml pyspark/mllib
fi

# Symbols for debuggers. Libraries of *.libs were moved by patchelf, and strip could damage them.
find . -name '*.so*' -type f -not -path '*.libs/*' -exec strip --strip-debug {} +

# The rest of Arrow is whole.
"$1/bin/python" -c 'import pyarrow.dataset, pyarrow.parquet'
