package definitions

import "testing"

// TestCommandsBehindOthers: logins that another command runs, and those with options before the subcommand.
func TestCommandsBehindOthers(t *testing.T) {
	const (
		login = "docker login one.test -u u -p p"
		found = "https://one.test u p,notice secretInRepository"
	)
	for script, want := range map[string]string{
		"/usr/bin/" + login:                                                found,
		"./" + login:                                                       found,
		"timeout 60 " + login:                                              found,
		"timeout -k 5 1.5m " + login:                                       found,
		"retry 3 " + login:                                                 found,
		"sudo -u x " + login:                                               found,
		"sudo -E " + login:                                                 found,
		"nice -n 5 " + login:                                               found,
		"docker --config D login one.test -u u -p p":                       found,
		"docker --config=D -D login one.test -u u -p p":                    found,
		"docker -D --config D login one.test -u u -p p":                    found,
		"./helm --debug registry login one.test -u u -p p":                 found,
		"bash -c '" + login + "'":                                          found,
		"sh -ec '" + login + "'":                                           found,
		"bash -c 'docker login one.test -u u -p $P'":                       "https://one.test u,unresolved template",
		"bash -c \"docker login one.test -u u -p p$P\"":                    "",
		"ssh -p 22 host '" + login + "'":                                   found,
		"bash <<EOF\n" + login + "\nEOF":                                   found,
		"ssh host <<'EOF'\n" + login + "\nEOF":                             found,
		"ssh host <<EOF\ndocker login one.test -u u -p p\\$P$Q\nEOF":       "https://one.test u,unresolved template",
		"cat <<EOF\n" + login + "\nEOF":                                    "",
		"echo " + login:                                                    "",
		"docker run --rm image login one.test -u u -p p":                   "",
		"docker exec -it a login one.test -u u -p p":                       "",
		"docker compose --file a login one.test -u u -p p":                 "",
		"echo 'bash -c docker login one.test'":                             "",
		"sudo -u x bash -c 'timeout 5 /bin/docker -D login one.test -u u'": "https://one.test u,unresolved incomplete",
	} {
		formatRule{name: script, file: "a.sh", text: script + "\n", want: want}.check(t)
	}
}
