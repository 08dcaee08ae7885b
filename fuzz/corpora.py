"""The kept inputs of the fuzz targets: one archive per target, `fuzz/corpus/<target>.tar`.

    python3 fuzz/corpora.py              # unpacks all into fuzz/target/kept/<target>
    python3 fuzz/corpora.py plan medium  # some

An archive depends on the names and contents of its inputs alone, so the same corpus is the same file.
"""

from __future__ import annotations

import argparse
import io
import shutil
import tarfile
from pathlib import Path

FUZZ = Path(__file__).parent
CORPUS = FUZZ / "corpus"


def targets() -> list[str]:
    """All fuzz targets."""
    return sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))


def unpacked(target: str) -> Path:
    """The target's inputs as files of a folder that the archive alone decides."""
    folder = FUZZ / "target" / "kept" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = CORPUS / f"{target}.tar"
    if archive.exists():
        with tarfile.open(archive) as file:
            file.extractall(folder, filter="data")
    return folder


def pack(target: str, folder: Path) -> None:
    """Makes the files of a folder the target's kept inputs."""
    CORPUS.mkdir(parents=True, exist_ok=True)
    archive = CORPUS / f"{target}.tar"
    with tarfile.open(archive, "w", format=tarfile.USTAR_FORMAT) as file:
        for path in sorted(folder.iterdir()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(path.name)
            entry.size = len(content)
            file.addfile(entry, io.BytesIO(content))


def main() -> None:
    """Unpacks the archives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(targets())}; all by default")
    for target in parser.parse_args().targets or targets():
        print(unpacked(target))


if __name__ == "__main__":
    main()
