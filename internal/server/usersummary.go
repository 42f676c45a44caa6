package server

import (
	"net/http"
	"strings"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/internal/directory"
	"github.com/regwarden/regwarden/internal/fault"
)

// summarizeUsers is POST /v1/users/summary. Terraform looks a user up by its email here at each refresh.
func (s *Server) summarizeUsers(c *call) (answer, error) {
	var body api.UserSummaryRequest
	if err := c.read(&body, func() []fault.Field { return nil }); err != nil {
		return answer{}, err
	}
	return listOf(http.StatusOK, s.candidates(c, body.Filter), func(u directory.User) any {
		metadata := userMetadata(u)
		if !matches(body.Filter.EmailID, u.Email) || !matches(body.Filter.Name, metadata.Name) {
			return nil
		}
		return api.UserSummary{Metadata: metadata, Status: userStatus(u),
			Spec: api.UserSummarySpec{EmailID: u.Email, FirstName: u.FirstName, LastName: u.LastName, Roles: tenantRoles(u)}}
	})
}

// candidates reads all users that the filter may include. For one email it reads one row.
func (s *Server) candidates(c *call, filter api.UserFilter) func(directory.User) ([]directory.User, bool, error) {
	email := filter.EmailID.Eq
	if email == nil {
		return s.userPages(c)
	}
	return func(directory.User) ([]directory.User, bool, error) {
		found, err := s.Directory.FindUser(c.Context(), c.principal, *email)
		return found, false, err
	}
}

func matches(f api.TextFilter, text string) bool {
	fold := func(s string) string { return s }
	if f.IgnoreCase {
		fold = strings.ToLower
	}
	text = fold(text)
	for _, rule := range []struct {
		want *string
		test func(text, want string) bool
	}{
		{f.Eq, func(text, want string) bool { return text == want }},
		{f.Ne, func(text, want string) bool { return text != want }},
		{f.Contains, strings.Contains},
		{f.BeginsWith, strings.HasPrefix},
	} {
		if rule.want != nil && !rule.test(text, fold(*rule.want)) {
			return false
		}
	}
	return true
}
