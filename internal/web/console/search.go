package console

import "github.com/regwarden/regwarden/internal/web/console/search"

// search is GET /console/search.
func (s *Console) search(c *call) error {
	all, err := docs()
	if err != nil {
		return err
	}
	page, err := search.Search{Registries: s.Registries, Directory: s.Directory, Reference: all, Pages: c.layout("", nil).Nav}.
		Find(c.Context(), c.principal, c.query("q"))
	return c.showRead(err, "search.html", "Search", page)
}
