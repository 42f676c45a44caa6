package service_test

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/regwarden/regwarden/api"
	"github.com/regwarden/regwarden/client"
	"github.com/regwarden/regwarden/regcheck"
	"github.com/regwarden/regwarden/secret"
	"github.com/regwarden/regwarden/test/instance"
	"github.com/regwarden/regwarden/test/jobtokens"
)

func (s *clientStory) projectCalls() []clientCall {
	labels := api.ProjectRequestMetadata{Name: "Charts", Labels: map[string]string{"team": "a"}}
	return []clientCall{
		{"Service", func(ctx context.Context) {
			service, err := s.Service(ctx)
			s.must(err)
			s.want(service.Version != "", true)
			s.want(time.Since(service.Time).Abs() < time.Hour, true)
		}},
		{"Health", func(ctx context.Context) { s.must(s.Health(ctx)) }},
		{"Login", func(ctx context.Context) { s.must(s.Login(ctx)) }},
		{"Whoami", s.refresh},
		{"Whoami", func(ctx context.Context) {
			info, err := s.Whoami(ctx)
			s.must(err)
			s.want(info.OrgName, instance.Org)
		}},
		{"Orgs.List", func(ctx context.Context) {
			orgs, err := client.Collect(s.Orgs.List(ctx))
			s.must(err)
			s.want(len(orgs), 1)
		}},
		{"Orgs.Find", func(ctx context.Context) {
			org, err := s.Orgs.Find(ctx, "acme")
			s.must(err)
			s.want(org.Metadata.Name, instance.Org)
		}},
		{"Orgs.Create", func(ctx context.Context) {
			_, err := s.Orgs.Create(ctx, api.OrgRequest{Metadata: api.Named{Name: "Other"}})
			s.refused(err, "OperationForbidden")
		}},
		{"Orgs.Rename", func(ctx context.Context) { s.refused(s.Orgs.Rename(ctx, noUID, "Other"), "OperationForbidden") }},
		{"Orgs.Contents", func(ctx context.Context) {
			_, err := s.Orgs.Contents(ctx, noUID)
			s.refused(err, "OperationForbidden")
		}},
		{"Orgs.Delete", func(ctx context.Context) { s.refused(s.Orgs.Delete(ctx, noUID, true), "OperationForbidden") }},
		{"Projects.Create", func(ctx context.Context) {
			var err error
			s.project, err = s.Projects.Create(ctx, api.ProjectRequest{Metadata: labels})
			s.must(err)
		}},
		{"Projects.Rename", func(ctx context.Context) { s.must(s.Projects.Rename(ctx, s.project, "Helm charts")) }},
		{"Projects.Contents", func(ctx context.Context) {
			found, err := s.Projects.Contents(ctx, s.project)
			s.must(err)
			s.want(len(found.Items), 0)
		}},
		{"Projects.Get", func(ctx context.Context) {
			project, err := s.Projects.Get(ctx, s.project)
			s.must(err)
			s.want(project.Metadata.Name, "Helm charts")
			s.want(project.Metadata.Labels["team"], "a")
		}},
		{"Projects.Replace", func(ctx context.Context) {
			s.must(s.Projects.Replace(ctx, s.project, api.ProjectRequest{Metadata: labels}))
		}},
		{"Projects.List", func(ctx context.Context) {
			projects, err := client.Collect(s.Projects.List(ctx))
			s.must(err)
			s.want(len(projects), 2)
		}},
		{"Projects.Find", func(ctx context.Context) {
			project, err := s.Projects.Find(ctx, "charts")
			s.must(err)
			s.want(project.Metadata.UID, s.project)
		}},
	}
}

// refresh uses the refresh token of another session in place of a token that the server refuses.
func (s *clientStory) refresh(ctx context.Context) {
	token, refreshToken := s.login(ctx)
	stored := 0
	c, err := client.New(s.url, client.Config{Token: token[:len(token)-1], RefreshToken: refreshToken, Transport: s.config.Transport,
		OnRefresh: func(_, _ secret.String) { stored++ }})
	s.must(err)
	_, err = c.Whoami(ctx)
	s.must(err)
	s.must(c.Logout(ctx))
	s.want(stored, 1)
}

// login returns the tokens of another session.
func (s *clientStory) login(ctx context.Context) (token, refreshToken secret.String) {
	config := s.config
	config.OnRefresh = func(t, r secret.String) { token, refreshToken = t, r }
	c, err := client.New(s.url, config)
	s.must(err)
	s.must(c.Login(ctx))
	return token, refreshToken
}

func (s *clientStory) userCalls() []clientCall {
	const email = "mate@acme.example"
	return []clientCall{
		{"Users.Create", func(ctx context.Context) {
			var err error
			s.user, err = s.Users.Create(ctx, api.NewUser{Spec: api.NewUserSpec{EmailID: email, Password: matePassword}})
			s.must(err)
		}},
		{"Users.Update", func(ctx context.Context) {
			s.must(s.Users.Update(ctx, s.user, api.UserUpdate{Metadata: api.PersonMetadata{Name: "Mate"}}))
		}},
		{"Users.SetRole", func(ctx context.Context) { s.must(s.Users.SetRole(ctx, email, "admin")) }},
		{"Users.SetProjectRoles", func(ctx context.Context) {
			s.must(s.Users.SetProjectRoles(ctx, email, api.UserProject{ProjectUID: "Charts", Roles: []string{"viewer"}}))
		}},
		{"Users.Projects", func(ctx context.Context) {
			projects, err := s.Users.Projects(ctx, email)
			s.must(err)
			s.want(len(projects), 1)
			s.want(projects[0].Roles[0].Name, "viewer")
		}},
		{"Users.SetProjects", func(ctx context.Context) { s.must(s.Users.SetProjects(ctx, email, "Charts")) }},
		{"Teams.Create", func(ctx context.Context) {
			var err error
			s.team, err = s.Teams.Create(ctx, api.TeamRequest{Metadata: api.Named{Name: "Ops"}, Spec: api.TeamRequestSpec{
				Roles: []string{"viewer"}}})
			s.must(err)
		}},
		{"Teams.AddUsers", func(ctx context.Context) { s.must(s.Teams.AddUsers(ctx, "Ops", email)) }},
		{"Teams.Find", func(ctx context.Context) {
			name := "Ops"
			teams, err := client.Collect(s.Teams.Find(ctx, api.TeamFilter{Name: api.TextFilter{Eq: &name}}))
			s.must(err)
			s.want(teams[0].Spec.Users, []api.Ref{{UID: s.user, Name: email}})
		}},
		{"Teams.RemoveUsers", func(ctx context.Context) { s.must(s.Teams.RemoveUsers(ctx, s.team, email)) }},
		{"Teams.Replace", func(ctx context.Context) {
			s.must(s.Teams.Replace(ctx, s.team, api.TeamRequest{Metadata: api.Named{Name: "ops"},
				Spec: api.TeamRequestSpec{Users: []string{email}}}))
		}},
		{"Teams.SetRoles", func(ctx context.Context) { s.must(s.Teams.SetRoles(ctx, s.team, "auditor", "viewer")) }},
		{"Teams.SetProjects", func(ctx context.Context) {
			s.must(s.Teams.SetProjects(ctx, s.team, api.UserProject{ProjectUID: "Charts", Roles: []string{"viewer"}}))
		}},
		{"Teams.Projects", func(ctx context.Context) {
			projects, err := s.Teams.Projects(ctx, s.team)
			s.must(err)
			s.want(projects[0].Name, "Charts")
		}},
		{"Teams.Get", func(ctx context.Context) {
			team, err := s.Teams.Get(ctx, "ops")
			s.must(err)
			s.want(team.Spec, api.TeamSpec{Users: []string{s.user}, Roles: []string{"auditor", "viewer"}, Sources: []string{}})
		}},
		{"Teams.List", func(ctx context.Context) {
			teams, err := client.Collect(s.Teams.List(ctx))
			s.must(err)
			s.want(len(teams), 1)
		}},
		{"Teams.Delete", func(ctx context.Context) { s.must(s.Teams.Delete(ctx, s.team)) }},
		{"Users.Invite", func(ctx context.Context) {
			invitation, err := s.Users.Invite(ctx, s.user)
			s.must(err)
			s.must(s.Users.AcceptInvitation(ctx, secret.String(invitation.Token), matePassword+" invited"))
		}},
		{"Users.AcceptInvitation", func(ctx context.Context) {
			s.refused(s.Users.AcceptInvitation(ctx, unusedInvitation, matePassword), "ResourceNotFound")
		}},
		{"Users.SetPassword", func(ctx context.Context) { s.must(s.Users.SetPassword(ctx, s.user, matePassword+" again")) }},
		{"Users.SetActive", func(ctx context.Context) { s.must(s.Users.SetActive(ctx, s.user, false)) }},
		{"Users.Get", func(ctx context.Context) {
			user, err := s.Users.Get(ctx, email)
			s.must(err)
			s.want(user.Metadata.Name, "Mate")
			s.want(user.Spec.Roles, []string{"admin"})
			s.want(user.Spec.Projects, []api.Ref{{UID: s.project, Name: "Charts"}})
			s.want(user.Status.IsActive, false)
		}},
		{"Users.List", func(ctx context.Context) {
			users, err := client.Collect(s.Users.List(ctx))
			s.must(err)
			s.want(len(users), 2)
		}},
		{"Users.Find", func(ctx context.Context) {
			start := "mate@"
			users, err := client.Collect(s.Users.Find(ctx, api.UserFilter{EmailID: api.TextFilter{BeginsWith: &start}}))
			s.must(err)
			s.want(len(users), 1)
		}},
		{"Users.ChangePassword", func(ctx context.Context) {
			s.must(s.Users.ChangePassword(ctx, instance.Password, matePassword))
			s.config.Password = matePassword
		}},
		{"APIKeys.Create", func(ctx context.Context) {
			created, err := s.APIKeys.Create(ctx,
				api.APIKeyRequest{Metadata: api.Named{Name: "ci"}, Spec: api.APIKeyRequestSpec{Expiry: tomorrow()}})
			s.must(err)
			s.key = created.UID
		}},
		{"APIKeys.Update", func(ctx context.Context) {
			s.must(s.APIKeys.Update(ctx, s.key, api.APIKeyRequest{Metadata: api.Named{Name: "pipeline"}}))
		}},
		{"APIKeys.SetActive", func(ctx context.Context) { s.must(s.APIKeys.SetActive(ctx, s.key, false)) }},
		{"APIKeys.Get", func(ctx context.Context) {
			key, err := s.APIKeys.Get(ctx, s.key)
			s.must(err)
			s.want(key.Metadata.Name, "pipeline")
			s.want(key.Status.IsActive, false)
		}},
		{"APIKeys.List", func(ctx context.Context) {
			keys, err := client.Collect(s.APIKeys.List(ctx))
			s.must(err)
			s.want(len(keys), 1)
		}},
		{"APIKeys.Revoke", func(ctx context.Context) {
			created, err := s.APIKeys.Create(ctx,
				api.APIKeyRequest{Metadata: api.Named{Name: "lost"}, Spec: api.APIKeyRequestSpec{Expiry: tomorrow()}})
			s.must(err)
			s.must(s.APIKeys.Revoke(ctx, secret.String(created.APIKey)))
			c, err := client.New(s.url, client.Config{APIKey: secret.String(created.APIKey), Transport: s.config.Transport})
			s.must(err)
			_, err = c.Whoami(ctx)
			s.refused(err, "UnAuthorizedAccess")
		}},
	}
}

func (s *clientStory) definition(password secret.String) api.OCIRegistryDefinition {
	return api.OCIRegistryDefinition{Definition: regcheck.Definition{Endpoint: s.endpoint,
		Auth: &regcheck.Auth{Type: regcheck.Basic, Username: ada, Password: password}}}
}

func (s *clientStory) registryCalls() []clientCall {
	stored := api.OCIRegistryRequest{Metadata: api.OCIRegistryName{Name: "ours"},
		Spec: api.OCIRegistryRequestSpec{OCIRegistryDefinition: s.definition(adaPassword), IsSyncSupported: true}}
	return []clientCall{
		{"Validate", func(ctx context.Context) { s.must(s.Validate(ctx, s.definition(adaPassword))) }},
		{"Validate", func(ctx context.Context) {
			report := client.ReportOf(s.Validate(ctx, s.definition("another")))
			s.want(report != nil && report.Code == regcheck.CodeAuthFailed && report.Field == "auth.password", true)
		}},
		{"Diagnose", func(ctx context.Context) {
			report, err := s.Diagnose(ctx, s.definition("another"))
			s.must(err)
			s.want(report.Valid, false)
		}},
		{"Scan", func(ctx context.Context) {
			found, err := s.Scan(ctx, []byte(`{"auths":{"registry.example.com":{"auth":"YTpi"}}}`), "", "")
			s.must(err)
			s.want(found.Summary.Found, 1)
		}},
		{"Registries.Bulk", func(ctx context.Context) {
			items, err := s.Registries.Bulk(ctx, api.RegistryBulk{Action: "delete", Filter: &api.RegistryBulkFilter{Name: "none"}})
			s.must(err)
			s.want(len(items), 0)
		}},
		{"Registries.Import", func(ctx context.Context) {
			items := []regcheck.Definition{stored.Spec.Definition, {Endpoint: "https://registry.example.com"}}
			imported, err := s.Registries.Import(ctx, api.OCIRegistryImport{Items: items}, true)
			s.must(err)
			s.want(len(imported), 2)
			s.want(imported[0].Result, api.ImportNew)
			s.want(imported[1].Result, api.ImportNotValid)
		}},
		{"Registries.InProject", func(ctx context.Context) {
			items := []regcheck.Definition{{Endpoint: "https://registry.example.com", Auth: &regcheck.Auth{}}}
			_, err := s.Registries.InProject("unknown").Import(ctx, api.OCIRegistryImport{Items: items}, false)
			unknown, ok := errors.AsType[*api.Error](err)
			s.want(ok && unknown.Code == "ProjectNotFoundInTenant", true)
			_, err = s.Registries.InProject(s.project).Import(ctx, api.OCIRegistryImport{Items: items}, true)
			s.must(err)
		}},
		{"Registries.Create", func(ctx context.Context) {
			var err error
			s.registry, err = s.Registries.Create(ctx, stored)
			s.must(err)
		}},
		{"Registries.Replace", func(ctx context.Context) {
			same := stored
			same.Spec.OCIRegistryDefinition = s.definition(secret.Mask)
			s.must(s.Registries.Replace(ctx, s.registry, same))
		}},
		{"Registries.Check", func(ctx context.Context) { s.must(s.Registries.Check(ctx, s.registry)) }},
		{"Registries.CheckAndWait", func(ctx context.Context) {
			report, err := s.Registries.CheckAndWait(ctx, s.registry)
			s.must(err)
			s.want(report.Valid, true)
		}},
		{"Registries.Get", func(ctx context.Context) {
			registry, err := s.Registries.Get(ctx, s.registry)
			s.must(err)
			s.want(registry.Spec.Endpoint, s.endpoint)
			s.want(registry.Spec.Auth.Password.Reveal(), secret.Mask)
		}},
		{"Registries.Find", func(ctx context.Context) {
			registry, err := s.Registries.Find(ctx, "OURS")
			s.must(err)
			s.want(registry.Metadata.UID, s.registry)
			s.want(registry.Status.Health.State, api.HealthHealthy)
			registry, err = s.Registries.Find(ctx, s.registry)
			s.must(err)
			s.want(registry.Metadata.Name, "ours")
		}},
		{"Registries.List", func(ctx context.Context) {
			registries, err := client.Collect(s.Registries.List(ctx))
			s.must(err)
			s.want(len(registries), 1)
		}},
		{"Registries.Search", func(ctx context.Context) {
			for health, count := range map[string]int{api.HealthHealthy: 1, api.HealthFailing: 0} {
				registries, err := client.Collect(s.Registries.Search(ctx,
					client.RegistryFilter{Name: "OUR", Health: health, Sort: "since", PageSize: 1}))
				s.must(err)
				s.want(len(registries), count)
			}
		}},
		{"Registries.AWSAccount", func(ctx context.Context) {
			_, err := s.Registries.AWSAccount(ctx, "aws-us-gov")
			s.refused(err, "AwsAccountNotConfigured")
			account, err := s.Registries.AWSAccount(ctx, "")
			s.must(err)
			s.want(account.AccountID, "123456789012")
		}},
		{"Registries.CountHealth", func(ctx context.Context) {
			counts, err := s.Registries.CountHealth(ctx)
			s.must(err)
			s.want(*counts, api.RegistryHealthCounts{Healthy: 1})
		}},
		{"Registries.Search", func(ctx context.Context) {
			one := stored
			one.Metadata.Name, one.Spec.IsSyncSupported = "theirs", false
			uid, err := s.Registries.Create(ctx, one)
			s.must(err)
			registries, err := client.Collect(s.Registries.Search(ctx, client.RegistryFilter{Name: "R", Sort: "name", PageSize: 1}))
			s.must(err)
			s.want(len(registries), 2)
			for _, none := range []client.RegistryFilter{{Expiry: "soon", Sort: "expiry"}, {Label: "team=none"}} {
				registries, err := client.Collect(s.Registries.Search(ctx, none))
				s.must(err)
				s.want(len(registries), 0)
			}
			s.must(s.Registries.Delete(ctx, uid))
		}},
		{"Registries.CountHealth", func(ctx context.Context) {
			counts, err := s.Registries.CountHealth(ctx)
			s.must(err)
			s.want(*counts, api.RegistryHealthCounts{Healthy: 1})
		}},
		{"Registries.History", func(ctx context.Context) {
			history, err := s.Registries.History(ctx, s.registry, 1)
			s.must(err)
			s.want(history.Status.Valid, true)
			s.want(len(history.Items), 1)
		}},
		{"Registries.Sync", func(ctx context.Context) { s.must(s.Registries.Sync(ctx, s.registry)) }},
		{"Registries.SyncStatus", func(ctx context.Context) {
			status, err := s.Registries.SyncStatus(ctx, s.registry)
			s.must(err)
			s.want(status.IsSyncSupported, true)
		}},
		{"Registries.Content", func(ctx context.Context) {
			tags, err := client.Collect(s.Registries.Content(ctx, s.registry, "charts"))
			s.must(err)
			s.want(len(tags), 0)
		}},
	}
}

func (s *clientStory) alertCalls() []clientCall {
	const component = "RegistryHealth"
	channel := api.AlertChannelRequest{Type: "http", IsActive: true,
		HTTP: &api.AlertChannelHTTPRequest{URL: secret.String(s.hook), Method: "POST"}}
	return []clientCall{
		{"Alerts.Components", func(ctx context.Context) {
			components, err := s.Alerts.Components(ctx)
			s.must(err)
			s.want(len(components), 3)
		}},
		{"Alerts.Create", func(ctx context.Context) {
			created, err := s.Alerts.Create(ctx, s.project, component, channel)
			s.must(err)
			s.channel = created.UID
			s.want(created.SigningSecret != "", true)
		}},
		{"Alerts.Update", func(ctx context.Context) {
			s.must(s.Alerts.Update(ctx, s.project, component, s.channel, channel))
		}},
		{"Alerts.Get", func(ctx context.Context) {
			stored, err := s.Alerts.Get(ctx, s.project, component, s.channel)
			s.must(err)
			s.want(stored.IsActive, true)
		}},
		{"Expiries", func(ctx context.Context) {
			_, err := s.Expiries(ctx)
			s.must(err)
		}},
		{"Alerts.Mute", func(ctx context.Context) {
			_, err := s.Alerts.Mute(ctx, api.MuteSpec{Label: "team=a", Until: tomorrow(), Reason: "upgrade"})
			s.must(err)
		}},
		{"Alerts.Mutes", func(ctx context.Context) {
			mutes, err := s.Alerts.Mutes(ctx)
			s.must(err)
			s.want(len(mutes), 1)
			s.want(mutes[0].Spec.Label, "team=a")
			s.want(mutes[0].Status.CreatedBy, instance.Email)
		}},
		{"Alerts.Unmute", func(ctx context.Context) {
			mutes, err := s.Alerts.Mutes(ctx)
			s.must(err)
			s.must(s.Alerts.Unmute(ctx, mutes[0].Metadata.UID))
		}},
		{"Alerts.SetReminders", func(ctx context.Context) { s.must(s.Alerts.SetReminders(ctx, 2, 60)) }},
		{"Alerts.Reminders", func(ctx context.Context) {
			days, err := s.Alerts.Reminders(ctx)
			s.must(err)
			s.want(days, []int{60, 2})
		}},
		{"Alerts.Test", func(ctx context.Context) {
			result, err := s.Alerts.Test(ctx, s.project, component, s.channel)
			s.must(err)
			s.want(result.Delivered, true)
			s.want(result.Status, 200)
		}},
		{"Alerts.Replace", func(ctx context.Context) {
			s.must(s.Alerts.Replace(ctx, s.project, component, api.AlertRequest{Channels: []api.AlertChannelRequest{channel}}))
		}},
		{"Alerts.List", func(ctx context.Context) {
			channels, err := s.Alerts.List(ctx, s.project, component)
			s.must(err)
			s.want(len(channels), 1)
			s.want(channels[0].UID, s.channel)
		}},
		{"Alerts.Delete", func(ctx context.Context) { s.must(s.Alerts.Delete(ctx, s.project, component, s.channel)) }},
		{"Alerts.DeleteAll", func(ctx context.Context) { s.must(s.Alerts.DeleteAll(ctx, s.project, component)) }},
	}
}

func (s *clientStory) otherCalls() []clientCall {
	record := ""
	return []clientCall{
		{"Audits.List", func(ctx context.Context) {
			filter := client.AuditFilter{ResourceKind: "user", ActionType: "update", From: time.Now().Add(-time.Hour),
				Until: time.Now().Add(time.Hour), PageSize: 1}
			records, err := client.Collect(s.Audits.List(ctx, filter))
			s.must(err)
			s.want(len(records), 9) // of nine changes
			record = records[0].Metadata.UID
		}},
		{"Audits.Get", func(ctx context.Context) {
			got, err := s.Audits.Get(ctx, record)
			s.must(err)
			s.want(got.Metadata.UID, record)
		}},
	}
}

func (s *clientStory) deletions() []clientCall {
	return []clientCall{
		{"Registries.Delete", func(ctx context.Context) { s.must(s.Registries.Delete(ctx, s.registry)) }},
		{"APIKeys.Delete", func(ctx context.Context) { s.must(s.APIKeys.Delete(ctx, s.key)) }},
		{"Users.Delete", func(ctx context.Context) { s.must(s.Users.Delete(ctx, "mate@acme.example")) }},
		{"Projects.Delete", func(ctx context.Context) { s.must(s.Projects.Delete(ctx, s.project, true)) }},
	}
}

// sessionCalls end sessions: each next call logs in with the changed password, or refreshes.
func (s *clientStory) sessionCalls() []clientCall {
	return []clientCall{
		{"Login", func(ctx context.Context) { s.must(s.Login(ctx)) }},
		{"Sessions.List", func(ctx context.Context) {
			sessions, err := s.Sessions.List(ctx)
			s.must(err)
			for _, session := range sessions {
				if session.Status.IsCurrent {
					s.own = session.Metadata.UID
				}
			}
		}},
		{"Sessions.End", func(ctx context.Context) { s.must(s.Sessions.End(ctx, s.own)) }},
		{"Sessions.RevokeTokens", func(ctx context.Context) {
			token, refreshToken := s.login(ctx)
			s.must(s.Sessions.RevokeTokens(ctx, token, refreshToken))
		}},
		{"Sessions.RevokeAll", func(ctx context.Context) { s.must(s.Sessions.RevokeAll(ctx)) }},
		{"Logout", func(ctx context.Context) { s.must(s.Logout(ctx)) }},
	}
}

func (s *clientStory) trustCalls(p *jobtokens.Issuer) []clientCall {
	uid := ""
	return []clientCall{
		{"Trusts.Create", func(ctx context.Context) {
			ca, err := os.ReadFile(p.CA)
			s.must(err)
			uid, err = s.Trusts.Create(ctx, api.TrustRuleRequest{Metadata: api.Named{Name: "ci"}, Spec: api.TrustRuleSpec{Issuer: p.URL,
				Audience: s.url, Claims: map[string]string{"repository": "acme/*"}, CA: string(ca)}})
			s.must(err)
		}},
		{"Trusts.Exchange", func(ctx context.Context) {
			c, err := client.New(s.url, client.Config{Transport: s.config.Transport})
			s.must(err)
			_, err = c.Trusts.Exchange(ctx, instance.Org, "", secret.String(p.Token(s.t, "acme/app", s.url, "1")))
			s.must(err)
			info, err := c.Whoami(ctx)
			s.must(err)
			s.want(info.Email, "ci")
		}},
		{"Trusts.List", func(ctx context.Context) {
			rules, err := s.Trusts.List(ctx)
			s.must(err)
			s.want(len(rules), 1)
			s.want(rules[0].Status.LastUsed.IsZero(), false)
		}},
		{"Trusts.Get", func(ctx context.Context) {
			rule, err := s.Trusts.Get(ctx, uid)
			s.must(err)
			s.want(rule.Spec.Issuer, p.URL)
		}},
		{"Trusts.Delete", func(ctx context.Context) { s.must(s.Trusts.Delete(ctx, uid)) }},
	}
}

func (s *clientStory) roleCalls() []clientCall {
	own, role := "", api.RoleRequest{Metadata: api.RoleRequestMetadata{Name: "Operators"},
		Spec: api.RoleRequestSpec{Permissions: []string{"registry.get"}, Scope: "project"}}
	return []clientCall{
		{"Roles.List", func(ctx context.Context) {
			roles, err := client.Collect(s.Roles.List(ctx))
			s.must(err)
			s.want(roles[0].Metadata.Name, "admin")
		}},
		{"Roles.Get", func(ctx context.Context) {
			role, err := s.Roles.Get(ctx, "viewer")
			s.must(err)
			s.want(role.Spec.Scope, "project")
		}},
		{"Roles.Create", func(ctx context.Context) {
			var err error
			own, err = s.Roles.Create(ctx, role)
			s.must(err)
		}},
		{"Roles.Replace", func(ctx context.Context) { s.must(s.Roles.Replace(ctx, own, role)) }},
		{"Roles.Clone", func(ctx context.Context) {
			uid, err := s.Roles.Clone(ctx, "auditor", "Our auditors")
			s.must(err)
			s.must(s.Roles.Delete(ctx, uid))
		}},
		{"Roles.Delete", func(ctx context.Context) { s.must(s.Roles.Delete(ctx, own)) }},
		{"Roles.Permissions", func(ctx context.Context) {
			all, err := s.Roles.Permissions(ctx)
			s.must(err)
			s.want(all[0].Name, "registry")
		}},
	}
}

func (s *clientStory) ssoCalls() []clientCall {
	spec := api.SSOSpec{Issuer: "https://login.example.com", ClientID: "regwarden", ClientSecret: "secret of the client"}
	var org string
	return []clientCall{
		{"SSO.Set", func(ctx context.Context) { s.must(s.SSO.Set(ctx, spec)) }},
		{"SSO.Get", func(ctx context.Context) {
			got, err := s.SSO.Get(ctx)
			s.must(err)
			s.want(got.Spec.Issuer, spec.Issuer)
			s.want(got.Spec.ClientSecret.Reveal(), secret.Mask)
		}},
		{"SSO.Link", func(ctx context.Context) { s.must(s.SSO.Link(ctx, instance.Email, "ada-7")) }},
		{"SSO.Identity", func(ctx context.Context) {
			got, err := s.SSO.Identity(ctx, instance.Email)
			s.must(err)
			s.want(*got, api.UserIdentity{Issuer: spec.Issuer, Subject: "ada-7"})
		}},
		{"SSO.Delete", func(ctx context.Context) { s.must(s.SSO.Delete(ctx)) }},
		{"Whoami", func(ctx context.Context) {
			info, err := s.Whoami(ctx)
			s.must(err)
			org = info.TenantUID
		}},
		{"Tenants.OrgLogin", func(ctx context.Context) {
			got, err := s.Tenants.OrgLogin(ctx, instance.Org)
			s.must(err)
			s.want(got.AuthType, api.AuthTypePassword)
		}},
		{"Tenants.Orgs", func(ctx context.Context) {
			got, err := s.Tenants.Orgs(ctx)
			s.must(err)
			s.want(got[0].Name, instance.Org)
		}},
		{"Tenants.SendOrgs", func(ctx context.Context) { s.must(s.Tenants.SendOrgs(ctx, instance.Email)) }},
		{"Tenants.SetOIDC", func(ctx context.Context) {
			s.must(s.Tenants.SetOIDC(ctx, org, api.TenantOIDC{IssuerURL: spec.Issuer, ClientID: spec.ClientID,
				ClientSecret: spec.ClientSecret}))
		}},
		{"Tenants.OIDC", func(ctx context.Context) {
			got, err := s.Tenants.OIDC(ctx, org)
			s.must(err)
			s.want(got.IssuerURL, spec.Issuer)
			s.want(got.IsSSOEnabled, false)
		}},
		{"Tenants.SetSAML", func(ctx context.Context) {
			s.must(s.Tenants.SetSAML(ctx, org, api.TenantSAML{IdentityProvider: "Okta"}))
		}},
		{"Tenants.SAML", func(ctx context.Context) {
			got, err := s.Tenants.SAML(ctx, org)
			s.must(err)
			s.want(got.IdentityProvider, "Okta")
		}},
		{"Tenants.SetDomains", func(ctx context.Context) {
			s.must(s.Tenants.SetDomains(ctx, org, api.TenantDomains{Domains: []string{"acme.example"}}))
		}},
		{"Tenants.Domains", func(ctx context.Context) {
			got, err := s.Tenants.Domains(ctx, org)
			s.must(err)
			s.want(len(got.Domains), 1)
		}},
		{"Tenants.SetLogins", func(ctx context.Context) {
			s.must(s.Tenants.SetLogins(ctx, org, api.TenantLogins{SSOLogins: []string{"github"}}))
		}},
		{"Tenants.Logins", func(ctx context.Context) {
			got, err := s.Tenants.Logins(ctx, org)
			s.must(err)
			s.want(len(got.SSOLogins), 1)
		}},
		{"Tenants.SetPasswordPolicy", func(ctx context.Context) {
			s.must(s.Tenants.SetPasswordPolicy(ctx, org, api.TenantPasswordPolicy{ExpiryDurationInDays: 999}))
		}},
		{"Tenants.PasswordPolicy", func(ctx context.Context) {
			got, err := s.Tenants.PasswordPolicy(ctx, org)
			s.must(err)
			s.want(got.ExpiryDurationInDays, 999)
		}},
		{"Tenants.SetTokens", func(ctx context.Context) {
			s.must(s.Tenants.SetTokens(ctx, org, api.TenantTokens{ExpiryTimeMinutes: 60}))
		}},
		{"Tenants.Tokens", func(ctx context.Context) {
			got, err := s.Tenants.Tokens(ctx, org)
			s.must(err)
			s.want(got.ExpiryTimeMinutes, 60)
		}},
		{"Devices.Begin", func(ctx context.Context) {
			begun, err := s.Devices.Begin(ctx)
			s.must(err)
			s.want(begun.Interval, int64(5))
		}},
		{"Devices.Await", func(ctx context.Context) {
			_, _, err := s.Devices.Await(ctx, &api.DeviceLogin{DeviceCode: "rwd_unknown", Interval: 1})
			var refused *api.Error
			s.want(errors.As(err, &refused), true)
			s.want(refused.OAuthError, api.ErrorExpiredToken)
		}},
	}
}

func (s *clientStory) mfaCalls() []clientCall {
	const email = "factor@acme.example"
	key, recovery, org := "", []string(nil), ""
	enroll := func(e *api.MFAEnrollment) secret.String {
		key = e.Secret
		return secret.String(instance.Code(s.t, key, 0))
	}
	return []clientCall{
		{"MFA.Enroll", func(ctx context.Context) {
			e, err := s.MFA.Enroll(ctx, s.config.Password)
			s.must(err)
			recovery, err = s.MFA.Confirm(ctx, enroll(e))
			s.must(err)
		}},
		{"MFA.Confirm", func(ctx context.Context) {
			_, err := s.MFA.Confirm(ctx, "123456")
			s.refused(err, "SecondFactorActive")
		}},
		{"MFA.Status", func(ctx context.Context) {
			status, err := s.MFA.Status(ctx)
			s.must(err)
			s.want(status.IsActive, true)
		}},
		{"MFA.RenewCodes", func(ctx context.Context) {
			var err error
			recovery, err = s.MFA.RenewCodes(ctx, s.config.Password, secret.String(recovery[0]))
			s.must(err)
			s.want(len(recovery), 10)
		}},
		{"MFA.Remove", func(ctx context.Context) {
			s.must(s.MFA.Remove(ctx, s.config.Password, secret.String(recovery[0])))
		}},
		{"MFA.Require", func(ctx context.Context) {
			me, err := s.Whoami(ctx)
			s.must(err)
			org = me.TenantUID
			s.must(s.MFA.Require(ctx, org, true))
		}},
		{"MFA.Required", func(ctx context.Context) {
			required, err := s.MFA.Required(ctx, org)
			s.must(err)
			s.want(required, true)
		}},
		{"MFA.Reset", func(ctx context.Context) {
			user, err := s.Users.Create(ctx, api.NewUser{Spec: api.NewUserSpec{EmailID: email, Password: matePassword}})
			s.must(err)
			config := client.Config{Email: email, Org: instance.Org, Password: matePassword, Transport: s.config.Transport}
			c, err := client.New(s.url, config)
			s.must(err)
			_, err = c.Whoami(ctx)
			s.want(errors.Is(err, client.ErrSecondFactor), true)
			asked, codes := 0, 0
			config.SecondFactor = func(_ context.Context, c client.Challenge) (secret.String, error) {
				if asked++; asked == 1 {
					return wrongCode, nil
				}
				s.want(c.Refused != nil, true)
				return enroll(c.Enrollment), nil
			}
			config.OnRecoveryCodes = func(list []string) { codes = len(list) }
			c, err = client.New(s.url, config)
			s.must(err)
			_, err = c.Whoami(ctx)
			s.must(err)
			s.want([]int{asked, codes}, []int{2, 10})
			s.must(s.MFA.Reset(ctx, user))
			s.must(s.MFA.Require(ctx, org, false))
		}},
	}
}
