# A Spack package of shoal, for a repository of your own (`spack repo create`), below packages/shoal/package.py:
#
#   spack dev-build shoal@0.1.0        in this tree: builds what is there, fetches only dependencies
#
# Spack 0.23 has loaded and concretized it, with libtorch and Arrow as externals, with the recipe of simdjson from Spack 1, with
# CMakePackage imported as that version has it, and without +filesystem, which its Arrow lacks. No build by Spack was finished, and
# Spack 1, for which it is written, was not tried.
#
# libtorch has to be of the minor version that tools/deps.lock pins, because private headers are used, and Arrow is tested in version 26
# alone. Where Spack has no recipe of these, an environment with the wheels (`pip install torch==2.15.0 pyarrow==26.0.1`) can be named
# in packages.yaml:
#
#   packages:
#     py-torch:
#       buildable: false
#       externals:
#       - {spec: py-torch@2.15.0, prefix: /path/to/environment}
#     arrow:
#       buildable: false
#       externals:
#       - spec: arrow@26.0.1+parquet+ipc+zstd+zlib+snappy+filesystem+shared
#         prefix: /path/to/environment/lib/python3.11/site-packages/pyarrow
#
# The other libraries are tested in the versions of tools/deps.lock alone.
import glob
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Shoal(CMakePackage):
    """Pre-training of GPT- and Llama-style language models, from one CPU process to thousands of GPUs: one C++ command and library on
    libtorch, c10d and Arrow."""

    homepage = "https://example.org/shoal"  # stands for the place where this tree is published
    git = "https://example.org/shoal.git"

    license("Apache-2.0", checked_by="shoal")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("engine", default=True, description="Build what needs libtorch: training, generation, verification")
    variant("mpi", default=False, description="Build the MPI backend beside gloo", when="+engine")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.6:", type="build")  # scripts of the installation

    depends_on("arrow@23:+parquet+ipc+zstd+zlib+snappy+filesystem+shared")
    depends_on("cli11@2.1:2")
    depends_on("fmt@9.1:9+shared")
    depends_on("isa-l@2.30:")
    depends_on("libsodium@1.0.18:")
    depends_on("nlohmann-json@3.11:")
    depends_on("random123@1.14:")
    depends_on("simdjson@3:3+shared")
    depends_on("spdlog@1.10:1.11+shared")
    depends_on("xxhash@0.8:")
    depends_on("yaml-cpp@0.7:0.8+shared")

    with when("+engine"):
        depends_on("py-torch@2.15")
        depends_on("gloo")  # headers alone: the library is inside libtorch
        depends_on("mpi", when="+mpi")

    requires("target=x86_64:", msg="only x86_64 is supported")
    conflicts("%gcc@:11", msg="C++20 as of g++ 12 is used")

    @property
    def torch_directory(self):
        """The directory of libtorch with include/ and lib/ in it, wherever the Python below the prefix keeps it."""
        header = os.path.join("torch", "include", "torch", "headeronly", "version.h")
        found = glob.glob(os.path.join(self.spec["py-torch"].prefix, "lib*", "python*", "site-packages", header))
        if not found:
            raise InstallError("there is no {0} below {1}".format(header, self.spec["py-torch"].prefix))
        return found[0][: -len(os.sep.join(["", "include", "torch", "headeronly", "version.h"]))]

    @run_before("cmake")
    def arrange_arrow(self):
        """Puts Arrow's headers and one file of each library side by side, as they lie in a wheel: what SHOAL_ARROW is expected to be."""
        arrow = self.spec["arrow"]
        place = os.path.join(self.stage.path, "arrow")
        mkdirp(place)
        symlink(arrow.prefix.include, os.path.join(place, "include"))
        for name in ("libarrow", "libparquet", "libarrow_s3"):
            found = glob.glob(os.path.join(arrow.prefix, "**", name + ".so.*"), recursive=True)
            if found:
                library = min(found, key=len)  # the name that programs look for; longer ones have the whole version
                symlink(library, os.path.join(place, os.path.basename(library)))

    def cmake_args(self):
        engine = self.spec.satisfies("+engine")
        arguments = [
            self.define_from_variant("SHOAL_ENGINE", "engine"),
            self.define("SHOAL_UNITY", True),
            self.define("SHOAL_ARROW", os.path.join(self.stage.path, "arrow")),
            self.define("SHOAL_MPI", "ON" if self.spec.satisfies("+mpi") else "OFF"),
        ]
        return arguments + ([self.define("SHOAL_TORCH", self.torch_directory)] if engine else [])
