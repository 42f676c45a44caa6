package dockerauth

// gitlabRunner uses a helper of the host, or else an entry by its path. What credsStore has takes precedence, and is not known.
func (l *lookup) gitlabRunner(reference, host string) {
	if name, found := l.config.helpers[host]; found {
		l.helper(name, host, "credHelpers has %q for %q.", Show(name), Show(host))
		return
	}
	if l.config.Store != "" {
		l.helper(l.config.Store, host, "credsStore is %q, whose entries take precedence.", Show(l.config.Store))
		l.choice.FromStore = true
		return
	}
	l.byPath(reference, host)
}
