# Template of the Homebrew formula: VERSION, URL and SHA256 are those of the release's source archive.
class Blockmill < Formula
  desc "Import, verify and measure raw Ethereum, Bitcoin and Neo archives"
  homepage "URL"
  url "URL/archive/refs/tags/vVERSION.tar.gz"
  sha256 "SHA256"
  license "MIT"

  depends_on "rust" => :build

  def install
    system "cargo", "install", "--locked", "--profile", "dist", "--path", "crates/cli", "--root", prefix
    system "cargo", "install", "--locked", "--profile", "dist", "--path", "crates/bench", "--root", prefix
    generate_completions_from_executable(bin/"blockmill", "completions")
    system bin/"blockmill", "man", buildpath/"man"
    man1.install Dir["man/*.1"]
  end

  test do
    system bin/"blockmill", "generate", "bitcoin", "--inputs", "50", "--blocks", "110", "--out", "blocks"
    assert_match "verified", shell_output("#{bin}/blockmill verify blocks --json")
  end
end
