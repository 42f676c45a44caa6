package command

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
)

// renewed is where a terminal finds credentials that something else renews: a credential helper of docker, or a file, such as one of a
// volume of Kubernetes or of an agent of Vault. Neither is stored, and no scanned file names one.
type renewed struct {
	helper                  string
	passwordFile, tokenFile string
}

// AddRenewedTo adds the flags of credentials that something else renews.
func (r *renewed) AddRenewedTo(flags *pflag.FlagSet) {
	flags.StringVar(&r.helper, "credential-helper", "",
		"credential helper of docker that has the credentials, such as docker-credential-pass")
	flags.StringVar(&r.passwordFile, "password-file", "", "file of the password, which something else renews")
	flags.StringVar(&r.tokenFile, "token-file", "", "file of the token, which something else renews")
}

// CredentialHelper returns the helper that the user named, "" without one.
func (r *renewed) CredentialHelper() string { return r.helper }

// overlay replaces given credentials by what they are obtained with.
func (r *renewed) overlay(a *regcheck.Auth) error {
	file := r.passwordFile != "" || r.tokenFile != ""
	switch kind := a.Kind(); {
	case !file && r.helper == "":
		return nil
	case kind.IsObtained(), r.helper != "" && (file || kind != regcheck.NoAuth):
		return UsageError{errors.New("--credential-helper, --password-file and --token-file cannot be combined with other credentials")}
	case r.helper != "":
		a.Type, a.Exec = regcheck.Exec, &regcheck.CredentialHelper{Name: r.helper}
	default:
		a.Type, a.File = regcheck.File, &regcheck.RenewedFile{Username: a.Username, Password: r.passwordFile, Token: r.tokenFile}
		a.Username, a.Password, a.Token = "", "", ""
	}
	return nil
}

// HelperFunc asks a credential helper.
type HelperFunc = func(ctx context.Context, program, server string) (username string, password secret.String, err error)

// Own adds to what definitions may use of the process the helper and the files that flags name. a may be nil.
func Own(a *regcheck.Ambient, helper HelperFunc) *regcheck.Ambient {
	if a == nil {
		a = &regcheck.Ambient{}
	}
	a.Helper, a.NamedFile = helper, readNamed
	return a
}

// maxNamed are the bytes of a file that are read: more than any source takes.
const maxNamed = 1 << 20

func readNamed(path string) (text []byte, changed time.Time, err error) {
	file, err := os.Open(path) // #nosec G304 -- named by the user
	if err != nil {
		return nil, changed, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, changed, err
	}
	text, err = io.ReadAll(io.LimitReader(file, maxNamed))
	return text, info.ModTime(), err
}
