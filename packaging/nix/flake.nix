{
  description = "Import, verify and measure raw Ethereum, Bitcoin and Neo archives";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "aarch64-darwin" ];
      each = build: nixpkgs.lib.genAttrs systems (system: build nixpkgs.legacyPackages.${system});
    in {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "blockmill";
          version = (builtins.fromTOML (builtins.readFile ../../Cargo.toml)).workspace.package.version;
          src = ../..;
          cargoLock.lockFile = ../../Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [ "-p" "blockmill-cli" "-p" "blockmill-bench" ];
          # the tests need fixtures; `.ci/run test` runs them
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            $out/bin/blockmill man man
            installManPage man/*.1
            for shell in bash zsh fish; do
              installShellCompletion --cmd blockmill --$shell <($out/bin/blockmill completions $shell)
            done
          '';
        };
      });
    };
}
