#include "shoal/cluster/secret.h"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/core/error.h"

#include "tests/support/error_text.h"
#include "tests/support/temp_dir.h"

namespace shoal::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tests::error_text;
using tests::TempDir;

const std::string kSomeKey(64, 'a');

Environment of(std::map<std::string, std::string> variables) {
  return Environment(std::move(variables));
}

Environment home(const TempDir& dir) { return Environment({{"HOME", dir.path().string()}}); }

TEST(Secret, HexRoundTripsAndRandomOnesDiffer) {
  const Secret secret = Secret::random();
  EXPECT_EQ(Secret::from_hex(secret.hex()).hex(), secret.hex());
  EXPECT_NE(Secret::random().hex(), Secret::random().hex());
}

TEST(Secret, RefusesWhatIsNoSecretWithoutShowingIt) {
  for (const std::string& text :
       {std::string("abc"), std::string(63, 'b'), std::string(65, 'b'), std::string(64, 'x')}) {
    const std::string message = error_text<UsageError>([&] { Secret::from_hex(text); });
    EXPECT_THAT(message, HasSubstr("64 hexadecimal digits"));
    EXPECT_THAT(message, Not(HasSubstr(text)));
  }
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

// Key 32 x 0xaa, over len(8, little-endian) "hello": computed with Python's hmac and hashlib.
TEST(Secret, MacIsHmacSha256AndTheFastOneBlake2b) {
  const Secret secret = Secret::from_hex(kSomeKey);
  EXPECT_EQ(hex_of(secret.fast_mac({"hello"})),
            "7582cc1aeaeeb263e1c65f2b8699b58606c8bbfae9bd55df79d7d8ce78a8692c");
  EXPECT_EQ(hex_of(secret.mac({"hello"})),
            "acccee5cf37fd728591cde474f8eb2e6ac2f42cc1a6cf90f5a22e7140fcdfa4c");
}

TEST(Secret, PartsDoNotRunTogether) {
  const Secret secret = Secret::from_hex(kSomeKey);
  EXPECT_NE(secret.mac({"ab", "c"}), secret.mac({"a", "bc"}));
  EXPECT_NE(secret.mac({"abc"}), secret.mac({"abc", ""}));
}

TEST(JobSecret, NamesWhereAWrongOneCameFrom) {
  EXPECT_THAT(error_text<UsageError>([] {
                job_secret(of({{"SHOAL_JOB_SECRET", "12"}}), "job");
              }),
              HasSubstr("SHOAL_JOB_SECRET"));
}

TEST(JobSecret, SaysWhatToDoWhereNoKeyCanBeMade) {
  for (const char* nowhere : {"/dev/null", "/proc/1/no/such/home"}) {
    const std::string text = error_text<UsageError>([&] {
      job_secret(of({{"HOME", nowhere}}), "job");
    });
    EXPECT_THAT(text, HasSubstr(format("your key {}/.config/shoal/key cannot be made", nowhere)));
    EXPECT_THAT(text, HasSubstr("set SHOAL_SECRET_FILE"));
  }
}

TEST(JobSecret, EveryRankOfAJobAgreesAndOtherJobsDiffer) {
  const TempDir dir;
  const std::string first = job_secret(home(dir), "slurm.1.0.0").hex();
  EXPECT_EQ(job_secret(home(dir), "slurm.1.0.0").hex(), first);
  EXPECT_NE(job_secret(home(dir), "slurm.2.0.0").hex(), first);
  struct stat status {};
  ASSERT_EQ(::stat((dir.path() / ".config/shoal/key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST(JobSecret, TheLaunchersSecretComesFirst) {
  const TempDir dir;
  EXPECT_EQ(
      job_secret(Environment({{"SHOAL_JOB_SECRET", kSomeKey}, {"HOME", dir.path().string()}}), "j")
          .hex(),
      kSomeKey);
  EXPECT_FALSE(std::filesystem::exists(dir.path() / ".config"));
}

TEST(JobSecret, RefusesAKeyThatOthersCanReadOrReplace) {
  const TempDir dir;
  const std::string path = (dir / "key").string();
  std::ofstream(path) << kSomeKey << "\n";
  const Environment env({{"SHOAL_SECRET_FILE", path}});
  ::chmod(path.c_str(), 0640);
  EXPECT_THAT(error_text<UsageError>([&] { job_secret(env, "j"); }), HasSubstr("chmod 600"));
  ::chmod(path.c_str(), 0600);
  EXPECT_NO_THROW(job_secret(env, "j"));
  ASSERT_EQ(::symlink(path.c_str(), (dir / "link").c_str()), 0);
  EXPECT_THAT(error_text<UsageError>([&] {
                job_secret(Environment({{"SHOAL_SECRET_FILE", (dir / "link").string()}}), "j");
              }),
              HasSubstr("must be a regular file"));
  std::ofstream(path) << "rubbish";
  EXPECT_THAT(error_text<UsageError>([&] { job_secret(env, "j"); }), HasSubstr("is damaged"));
}

TEST(JobSecret, SaysWhatToDoWithoutAHome) {
  EXPECT_THAT(error_text<UsageError>([] { job_secret(Environment(), "j"); }),
              HasSubstr("set SHOAL_SECRET_FILE"));
}

}  // namespace
}  // namespace shoal::cluster
