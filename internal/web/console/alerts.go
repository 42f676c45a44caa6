package console

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/service/access"
	"github.com/regwarden/regwarden/internal/service/alerts"
	"github.com/regwarden/regwarden/internal/service/auth"
	"github.com/regwarden/regwarden/internal/service/directory"
	"github.com/regwarden/regwarden/internal/service/mutes"
	"github.com/regwarden/regwarden/internal/service/tenants"
	"github.com/regwarden/regwarden/internal/web/console/channelform"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/secret"
)

const (
	pathAlerts     = "/console/alerts"
	pathNewChannel = pathAlerts + "/{project}/{type}"
	pathChannel    = pathAlerts + "/{project}/{component}/{channel}"
)

// alertComponents are what raises alerts, as the pages name it.
var alertComponents = forms.Options(alerts.RegistryHealth, "Health of registries", alerts.APIKeyExpiry, "API keys that expire")

type alertsPage struct {
	Mutes    []mutes.Mute
	Mute     *forms.Form // nil without the permission
	MayEnd   bool        // one of them
	Projects []projectChannels
	Pages    views.Pager
	Empty    views.Empty

	Destinations []channelform.Destination
	Days         []int       // before the end of an API key at which an alert is sent
	Reminders    *forms.Form // nil without the permission
}

// projectChannels are the channels of a project.
type projectChannels struct {
	Name, UID string
	Channels  []channelView
	MayChange bool
}

// channelView is a channel on a page.
type channelView struct{ alerts.Channel }

// Path is the address of the channel's page.
func (v channelView) Path() string {
	return pathAlerts + "/" + url.PathEscape(v.Scope.ProjectUID) + "/" + url.PathEscape(v.Scope.Component) + "/" + url.PathEscape(v.UID)
}

// Component is what raises its alerts.
func (v channelView) Component() string {
	for _, o := range alertComponents {
		if o.Value == v.Scope.Component {
			return o.Label
		}
	}
	return v.Scope.Component
}

// Kind is its type in words.
func (v channelView) Kind() string {
	if v.HTTP != nil {
		return "Webhook"
	}
	return "Email"
}

// Title is its name, or what it sends to.
func (v channelView) Title() string { return cmp.Or(v.Name, v.Target()) }

// Target is what it sends to.
func (v channelView) Target() string {
	if v.HTTP != nil {
		return channelform.Host(v.Channel)
	}
	targets := v.Identifiers
	if v.AlertAllUsers {
		targets = append([]string{"all users of the project"}, targets...)
	}
	if len(targets) > 2 {
		return strings.Join(targets[:2], ", ") + " and " + words.Count(len(targets)-2, "other")
	}
	return strings.Join(targets, ", ")
}

// Addresses are those of a channel for email, and whether each has confirmed.
func (v channelView) Addresses() (list []channelAddress) {
	waiting := map[string]bool{}
	for _, address := range v.Unconfirmed {
		waiting[address] = true
	}
	for _, address := range v.Identifiers {
		list = append(list, channelAddress{address, !waiting[address]})
	}
	return list
}

type channelAddress struct {
	Address   string
	Confirmed bool
}

// alertHandlers has the pages of alert channels.
type alertHandlers struct {
	channels  *alerts.Channels
	directory *directory.Directory
	mutes     *mutes.Mutes
	settings  *tenants.Tenants
}

// listAlerts is GET /console/alerts.
func (h alertHandlers) listAlerts(c *call) error {
	page, err := h.alertsPage(c)
	return c.showRead(err, "alerts.html", "Alerts", page)
}

func (h alertHandlers) alertsPage(c *call) (page alertsPage, err error) {
	// The page is also shown at the address of a form that was refused, to which no link can lead.
	address := &url.URL{Path: pathAlerts, RawQuery: c.URL.RawQuery}
	projects, pages, err := listPage(address, func(after directory.Project) ([]directory.Project, bool, error) {
		return h.directory.ListProjects(c.Context(), c.principal, after)
	}, func(directory.Project) bool { return true })
	if err != nil {
		return page, err
	}
	all, err := h.channels.OfOrg(c.Context(), c.principal.OrgUID)
	if err != nil {
		return page, err
	}
	page = alertsPage{Destinations: channelform.Destinations, Pages: pages, Mute: muteForm(c), Empty: noAlerts(c.principal)}
	for _, project := range projects {
		shown := projectChannels{Name: project.Name, UID: project.UID, MayChange: c.principal.CanIn(access.ConfigureAlerts, project.UID)}
		for _, channel := range all {
			if channel.Scope.ProjectUID == project.UID {
				shown.Channels = append(shown.Channels, channelView{channel})
			}
		}
		page.Projects = append(page.Projects, shown)
	}
	if page.Days, err = h.settings.KeyReminders(c.Context(), c.principal); err != nil {
		return page, err
	}
	if c.principal.Can(access.ChangeTenant) {
		page.Reminders = forms.New("Save", pathAlerts+"/reminders", forms.Field{Name: "days", Label: "Days",
			Value: strings.Trim(fmt.Sprint(page.Days), "[]"), Hint: "At most three, such as 30 7 1. Empty: no alerts."})
	}
	if c.principal.CanAnywhere(access.ReadRegistries) {
		page.Mutes, err = h.mutes.List(c.Context(), c.principal)
		page.MayEnd = slices.ContainsFunc(page.Mutes, func(m mutes.Mute) bool { return m.MayDelete })
	}
	return page, err
}

// noAlerts is shown to a caller who sees no project.
func noAlerts(p auth.Principal) views.Empty {
	if p.Can(access.ReadAllProjects) {
		return noProjects(p)
	}
	return views.Empty{Text: "You are a member of no project yet. Alerts belong to projects: ask an administrator to add you to one."}
}

// setReminders is POST /console/alerts/reminders.
func (h alertHandlers) setReminders(c *call) error {
	days, err := readDays(c.PostFormValue("days"))
	if err == nil {
		err = h.settings.SetKeyReminders(c.Context(), c.principal, c.origin, days)
	}
	if err != nil {
		return h.refuse(c, err, func(p alertsPage) *forms.Form { return p.Reminders })
	}
	return c.redirect(pathAlerts, "remindersSet")
}

func readDays(text string) ([]int, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	days := make([]int, len(words))
	for i, word := range words {
		var err error
		if days[i], err = strconv.Atoi(word); err != nil {
			return nil, fault.InvalidField("days", "must be numbers such as 30 7 1")
		}
	}
	return days, nil
}

// refuse shows the page with the problems of one of its forms. A caller who does not get this form gets the error.
func (h alertHandlers) refuse(c *call, err error, formOf func(alertsPage) *forms.Form) error {
	page, pageErr := h.alertsPage(c)
	if pageErr != nil || formOf(page) == nil {
		return err
	}
	formOf(page).Refuse(c, err)
	return c.showAgain(err, "alerts.html", "Alerts", page)
}

// muteForm returns the form of a time without alerts of the organization or of a label.
func muteForm(c *call) *forms.Form {
	if !c.principal.Can(access.ConfigureAlerts) {
		return nil
	}
	return forms.New("Mute", pathAlerts+"/mute",
		forms.Field{Name: "label", Label: "Label",
			Hint: "KEY=VALUE or KEY: mutes registries with this label. Empty: the whole organization."},
		forms.Field{Name: "from", Label: "From (UTC)", Type: "datetime-local", Hint: "Empty: now."},
		forms.Field{Name: "until", Label: "Until (UTC)", Type: "datetime-local", Required: true},
		forms.Field{Name: "reason", Label: "Reason"})
}

// mute is POST /console/alerts/mute.
func (h alertHandlers) mute(c *call) error {
	from, problems := minute("from", c.PostFormValue("from"))
	until, more := minute("until", c.PostFormValue("until"))
	err := error(nil)
	if problems = append(problems, more...); len(problems) > 0 {
		err = fault.InvalidFields(problems...)
	} else {
		_, err = h.mutes.Create(c.Context(), c.principal, c.origin, mutes.Input{Label: strings.TrimSpace(c.PostFormValue("label")),
			From: from, Until: until, Reason: c.PostFormValue("reason")})
	}
	if err != nil {
		return h.refuse(c, err, func(p alertsPage) *forms.Form { return p.Mute })
	}
	return c.redirect(pathAlerts, "muted")
}

type channelPage struct {
	Project string
	Channel channelView

	Destination channelform.Destination // of a new channel
	Form        *forms.Form             // of a new channel, or to change this one; nil without the permission
	Test        *forms.Form
	Delete      *forms.Form
	Result      *alerts.TestResult // of a test
	Signing     secret.String      // shown once, after the channel was created
}

// newChannel is GET /console/alerts/{project}/{type}.
func (h alertHandlers) newChannel(c *call) error {
	page, err := h.newChannelPage(c)
	if err != nil {
		return err
	}
	page.Form.Focus()
	return c.show("newchannel.html", "New channel: "+page.Destination.Label, page)
}

// newChannelPage returns the page of the form for a channel of the type that the path names.
func (h alertHandlers) newChannelPage(c *call) (page channelPage, err error) {
	if err := c.principal.MayIn(access.ConfigureAlerts, c.PathValue("project")); err != nil {
		return page, err
	}
	project, err := h.directory.Project(c.Context(), c.principal, c.PathValue("project"))
	if err != nil {
		return page, err
	}
	destination, known := channelform.Find(c.PathValue("type"))
	if !known {
		return page, pathNotFound()
	}
	channel := destination.New()
	channel.Scope = alerts.Scope{OrgUID: project.OrgUID, ProjectUID: project.UID, Component: c.PostFormValue("component")}
	page = channelPage{Project: project.Name, Channel: channelView{channel}, Destination: destination}
	component := forms.Field{Name: "component", Label: "Alerts about", Type: "select", Value: alerts.RegistryHealth,
		Options: alertComponents}
	page.Form = forms.New("Create", pathAlerts+"/"+url.PathEscape(project.UID)+"/"+destination.Name,
		append([]forms.Field{component}, destination.Fields()...)...)
	return page, nil
}

// createChannel is POST /console/alerts/{project}/{type}.
func (h alertHandlers) createChannel(c *call) error {
	page, err := h.newChannelPage(c)
	if err != nil {
		return err
	}
	channel := &page.Channel
	input, err := page.Destination.Input(c)
	var signing secret.String
	if err == nil {
		channel.UID, signing, err = h.channels.Create(c.Context(), c.principal, c.origin, channel.Scope, input)
	}
	if err != nil {
		page.Form.Refuse(c, err)
		return c.showAgain(err, "newchannel.html", "New channel: "+page.Destination.Label, page)
	}
	if signing != "" && page.Destination.VerifiesSignatures(c) {
		page.Signing = signing
		return c.show("createdchannel.html", "Channel created", page)
	}
	return c.redirect(channel.Path(), "channelCreated")
}

// channelPage returns the page of the channel that the path names.
func (h alertHandlers) channelPage(c *call) (page channelPage, err error) {
	project, err := h.directory.Project(c.Context(), c.principal, c.PathValue("project"))
	if err != nil {
		return page, err
	}
	channel, err := h.channels.Get(c.Context(), alerts.Scope{OrgUID: project.OrgUID, ProjectUID: project.UID,
		Component: c.PathValue("component")}, c.PathValue("channel"))
	if err != nil {
		return page, err
	}
	page = channelPage{Project: project.Name, Channel: channelView{channel}}
	if c.principal.CanIn(access.ConfigureAlerts, project.UID) {
		path := page.Channel.Path()
		page.Form = forms.New("Save", path, channelform.Fields(channel)...)
		page.Test, page.Delete = forms.New("Send test", path+"/test"), forms.New("Delete channel", path+"/delete")
	}
	return page, nil
}

// showChannel is GET /console/alerts/{project}/{component}/{channel}.
func (h alertHandlers) showChannel(c *call) error {
	page, err := h.channelPage(c)
	return c.showRead(err, "channel.html", page.Channel.Title(), page)
}

// changeChannel is POST /console/alerts/{project}/{component}/{channel}.
func (h alertHandlers) changeChannel(c *call) error {
	page, err := h.channelPage(c)
	if err != nil {
		return err
	}
	if page.Form == nil {
		return c.principal.May(access.ConfigureAlerts)
	}
	input, err := channelform.Input(c, page.Channel.Channel)
	if err == nil {
		err = h.channels.Update(c.Context(), c.principal, c.origin, page.Channel.Scope, page.Channel.UID, input)
	}
	if err != nil {
		page.Form.Refuse(c, err)
		return c.showAgain(err, "channel.html", page.Channel.Title(), page)
	}
	return c.redirect(page.Channel.Path(), "channelChanged")
}

// testChannel is POST /console/alerts/{project}/{component}/{channel}/test. It shows what the receiver returned.
func (h alertHandlers) testChannel(c *call) error {
	page, err := h.channelPage(c)
	if err != nil {
		return err
	}
	result, err := h.channels.Test(c.Context(), c.principal, c.origin, page.Channel.Scope, page.Channel.UID)
	if fault.KindOf(err) == fault.Limited {
		page.Test.Message = words.Message(fault.Visible(err))
		return c.showAgain(err, "channel.html", page.Channel.Title(), page)
	}
	if err != nil {
		return err
	}
	page.Result = &result
	return c.show("channel.html", page.Channel.Title(), page)
}

// deleteChannel is POST /console/alerts/{project}/{component}/{channel}/delete.
func (h alertHandlers) deleteChannel(c *call) error {
	page, err := h.channelPage(c)
	if err != nil {
		return err
	}
	err = h.channels.Delete(c.Context(), c.principal, c.origin, page.Channel.Scope, page.Channel.UID)
	return c.done(err, pathAlerts, "channelDeleted")
}
