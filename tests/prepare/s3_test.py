#!/usr/bin/env python3
"""shoal prepare from S3, as moto's server speaks it on this machine, against the same files on disk."""
import gzip
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SHOAL_SOURCE_DIR"])
SHOAL = str(pathlib.Path(os.environ["SHOAL_BINARY_DIR"]) / "shoal")
sys.path.insert(0, str(SOURCE / ".deps" / "site"))
try:
    import boto3
    import pyarrow as pa
    import pyarrow.parquet as pq
    from moto.server import ThreadedMotoServer
except ImportError as missing:
    print(f"skipped: {missing}; tools/deps.sh lean check brings it")
    sys.exit(77)

KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMIbPxRfiCYEXAMPLEKEY"
BUCKET = "corpus"


def files():
    """Names and bytes. The JSONL has lines across slices; names are not in the order of their upload."""
    docs = [f"document {n} " + "wörd " * (n * 7 % 501) for n in range(900)]
    jsonl = "".join(json.dumps({"text": doc}) + "\n" for doc in docs).encode()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"text": [f"row {n} " * 9 for n in range(700)]}), sink, row_group_size=100)
    return {"web/b.jsonl": jsonl, "web/a.jsonl.gz": gzip.compress(jsonl.replace(b"document", b"packed")),
            "web/deep/c.parquet": sink.getvalue().to_pybytes(), "web/README": b"not data"}


class S3(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # No proxy between the two, and no credentials but those given here.
        for name in [name for name in os.environ if name.startswith("AWS_") or name.lower().endswith("_proxy")]:
            del os.environ[name]
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        cls.server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)
        cls.address = "{}:{}".format(*cls.server.get_host_and_port())
        cls.client = boto3.client("s3", endpoint_url=f"http://{cls.address}", region_name="us-east-1",
                                  aws_access_key_id=KEY, aws_secret_access_key=SECRET)
        cls.client.create_bucket(Bucket=BUCKET)
        for name, content in files().items():
            cls.client.put_object(Bucket=BUCKET, Key=name, Body=content)

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="s3-")
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def uri(self, path, who=""):
        return f"s3://{who}{path}?endpoint_override={self.address}&scheme=http&region=us-east-1"

    def run_shoal(self, output, source, **environment):
        """Exit code, and all that was said."""
        done = subprocess.run([SHOAL, "prepare", "--input", source, "--tokenizer", "byte", "--output", self.directory / output,
                               "--part-bytes", "100KiB"], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true", **environment})
        return done.returncode, done.stdout + done.stderr

    def prepare(self, output, source, codes=(0,)):
        code, said = self.run_shoal(output, source, AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET)
        self.assertIn(code, codes, said)
        return said

    def tokens(self, output):
        """The bytes of all shards: they hold neither names nor places of the input."""
        return {path.name: path.read_bytes() for path in (self.directory / output).iterdir() if path.suffix == ".arrow"}

    def local(self):
        for name, content in files().items():
            path = self.directory / "local" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self.prepare("expected", self.directory / "local" / "web")
        return self.tokens("expected")

    def counts(self, output):
        manifest = json.loads((self.directory / output / "manifest.json").read_text())
        return manifest["input"], {split: manifest[split]["tokens"] for split in ("train", "validation")}

    def test_directory_and_file_are_as_on_disk(self):
        expected = self.local()
        self.assertGreater(len(expected), 10)
        self.prepare("all", self.uri(f"{BUCKET}/web"))
        self.assertTrue(self.tokens("all") == expected, "other tokens than from disk")
        self.assertEqual(self.counts("all"), self.counts("expected"))
        self.prepare("one", self.uri(f"{BUCKET}/web/b.jsonl"))
        self.assertEqual(self.counts("one")[0]["documents"], 900)

    def test_what_is_not_there(self):
        for path, codes in (("nowhere/web", (2, 3)), (f"{BUCKET}/gone", (2, 3)), (f"{BUCKET}/web/README", (2,))):
            said = self.prepare("out", self.uri(path), codes)
            self.assertIn(f"s3://{path}", said)
            self.assertNotIn("endpoint_override", said)
            self.assertNotIn("Finalize", said)

    def test_token_files_must_be_local(self):
        self.client.put_object(Bucket=BUCKET, Key="ids/a.bin", Body=b"ab")
        self.assertIn("copy it here", self.prepare("out", self.uri(f"{BUCKET}/ids/a.bin"), (2,)))

    def test_a_secret_in_the_address_stays_there(self):
        for path, codes in ((f"{BUCKET}/web", (0,)), ("nowhere/web", (2, 3)), (f"{BUCKET}/web/README", (2,))):
            code, said = self.run_shoal("secret", self.uri(path, f"{KEY}:{SECRET}@"))
            self.assertIn(code, codes, said)
            written = [file.read_bytes() for file in (self.directory / "secret").glob("*")]
            for content in [said.encode(), *written]:
                self.assertNotIn(SECRET.encode(), content)
                self.assertNotIn(KEY.encode(), content)

    def test_a_wrong_address_says_so_without_the_secret(self):
        for start in ("s3://KEY:half/other@corpus/web", "s3://KEY:half other@corpus/web", "s3://KEY:half%ZZother@corpus/web",
                      "s3://KEY:half@other@corpus/web", "what://KEY:halfother@corpus/web", "s3://KEY:halfother@corpus/web?no_option=other",
                      "s3://KEY:halfother@/web"):
            code, said = self.run_shoal("out", start)
            self.assertEqual(code, 2, said)
            for secret in ("KEY", "half", "other"):
                self.assertNotIn(secret, said)
            self.assertIn("/web", said)


if __name__ == "__main__":
    unittest.main()
