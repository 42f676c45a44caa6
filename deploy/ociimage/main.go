// Command ociimage writes the image of a release without a container engine: a tarball in the OCI image layout, with an image
// from scratch for each platform. The images are configured like that of deploy/Dockerfile. The same input gives the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/pem"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	version := flag.String("version", "dev", "version of the binaries; the tag of the image")
	created := flag.Int64("created", 0, "time of the build, in seconds since 1970")
	out := flag.String("out", "", "file to write")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: ociimage --out FILE [--version V] [--created SECONDS] ARCH=BINARY...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *out == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*out, *version, time.Unix(*created, 0).UTC(), flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "ociimage: "+err.Error())
		os.Exit(1)
	}
}

// run writes the tarball and prints its line of the checksums file.
func run(out, version string, created time.Time, binaries []string) error {
	l := layout{created: created, blobs: map[string][]byte{}}
	var images []descriptor
	for _, argument := range binaries {
		arch, path, ok := strings.Cut(argument, "=")
		if !ok {
			return fmt.Errorf("%q must be ARCH=BINARY", argument)
		}
		binary, err := os.ReadFile(path) // #nosec G703 -- named on the command line
		if err != nil {
			return err
		}
		image, err := l.addImage(arch, version, binary)
		if err != nil {
			return err
		}
		images = append(images, image)
	}
	tarball, err := l.tarball(version, images)
	if err != nil {
		return err
	}
	if err := os.WriteFile(out, tarball, 0o644); err != nil { // #nosec G306 G703 -- published, and named on the command line
		return err
	}
	_, err = fmt.Printf("%x  %s\n", sha256.Sum256(tarball), filepath.Base(out))
	return err
}

// authorities are the public certificate authorities, as a PEM bundle.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer returns no error
	}
	return text.Bytes()
}
