package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/regwarden/regwarden/definitions"
	"github.com/regwarden/regwarden/definitions/model"
	"github.com/regwarden/regwarden/internal/audit"
	"github.com/regwarden/regwarden/internal/fault"
	"github.com/regwarden/regwarden/internal/fixes"
	"github.com/regwarden/regwarden/internal/service/checks"
	"github.com/regwarden/regwarden/internal/service/registries"
	"github.com/regwarden/regwarden/internal/service/reports"
	"github.com/regwarden/regwarden/internal/web/console/forms"
	"github.com/regwarden/regwarden/internal/web/console/views"
	"github.com/regwarden/regwarden/internal/web/console/words"
	"github.com/regwarden/regwarden/regcheck"
)

const pathScan = "/console/scan"

const (
	maxScan       = 1 << 20 // bytes of a file, unless Config sets it
	maxFound      = 100     // rows of the list of definitions
	maxSkipped    = 20      // and of those of other entries
	maxChecked    = 20      // definitions of a request
	checksAtOnce  = 4
	pastedName    = "pasted text"
	actionCheck   = "check"
	actionSave    = "save"
	fieldFile     = "file"
	fieldText     = "text"
	fieldConsumer = "as"
	fieldFormat   = "format"
	fieldChosen   = "chosen"
	fieldDo       = "do" // not action, which would hide that of the form from scripts
)

type scanPage struct {
	Form    *forms.Form
	Result  *scanResult // nil before a file was read
	MaySave bool
}

// scanResult is what a file has.
type scanResult struct {
	Found    []foundDefinition
	All      int // Found are the first of so many
	Skipped  []model.Skipped
	Problems []model.Problem
	Summary  model.Summary
}

// foundDefinition is a definition of the file, and what was done with it. The secrets of the definition stay out of the page.
type foundDefinition struct {
	model.Registry
	ID       string
	Chosen   bool
	Imported *registries.Imported
}

// Usable reports whether the definition can be checked and stored.
func (f foundDefinition) Usable() bool {
	return f.Resolution == model.Resolved && len(f.DefinitionProblems) == 0
}

// Address is where the registry is.
func (f foundDefinition) Address() string { return views.Short(model.Address(f.Definition)) }

// Places are where the file has it.
func (f foundDefinition) Places() string {
	first := views.Place(f.Sources[0])
	if n := len(f.Sources) - 1; n > 0 {
		first += fmt.Sprintf(", and %s more", words.Count(n, "place"))
	}
	return first
}

// FieldName names a field of the definition as the file does, or else as the form of a definition.
func (f foundDefinition) FieldName(path string) string {
	if name := fixes.Field(f.Registry, path); name != path {
		return name
	}
	return forms.Label(path)
}

// User is as whom the registry is used.
func (f foundDefinition) User() string {
	if f.Resolution == model.Unresolved {
		return "credentials that are not in the file"
	}
	switch a := f.Definition.Auth; a.Kind() {
	case regcheck.Basic:
		return views.Short(a.Username)
	case regcheck.Token:
		return "a token"
	default:
		return "anonymous"
	}
}

func scanPageOf(c *call) scanPage {
	formats, consumers := forms.Options("", "Detect"), forms.Options("", "The program that the file belongs to")
	for _, name := range definitions.FormatNames() {
		formats = append(formats, forms.Options(name, name)...)
	}
	for _, name := range model.ConsumerNames() {
		consumers = append(consumers, forms.Options(name, name)...)
	}
	f := forms.New("List", pathScan,
		forms.Field{Name: fieldFile, Label: "File", Type: "file", Hint: "Choose a file or drop it here: a docker config, manifests, and " +
			"others. The service does not store it."},
		forms.Field{Name: fieldText, Label: "Or its text", Type: "textarea", Secret: true},
		forms.Field{Name: fieldConsumer, Label: "Used by", Type: "select", Options: consumers,
			Hint: "Programs choose credentials by different rules."},
		forms.Field{Name: fieldFormat, Label: "Format", Type: "select", Options: formats})
	f.Multipart = true
	return scanPage{Form: f, MaySave: mayCreate(c)}
}

// scanHandlers has the page that reads a file.
type scanHandlers struct {
	checks     *checks.Service
	registries *registries.Service
	count      func(*regcheck.Report, error)
}

// showScan is GET /console/scan.
func (h scanHandlers) showScan(c *call) error { return c.show("scan.html", "Scan", scanPageOf(c)) }

// scan is POST /console/scan: it lists what the file of the request has, and checks or saves what was chosen of it. The file is part
// of each request, since the service does not store it.
func (h scanHandlers) scan(c *call) error {
	page := scanPageOf(c)
	options := model.Options{Format: model.Format(c.PostFormValue(fieldFormat)), As: model.Consumer(c.PostFormValue(fieldConsumer))}
	name, file, err := scannedFile(c)
	if err = cmp.Or(err, knownOptions(options)); err != nil {
		_, recordErr := h.checks.Refuse(c.Context(), c.principal, c.origin, checks.RefusalOf(audit.RegistryScan, err))
		return h.refuseScan(c, page, cmp.Or(recordErr, err))
	}
	request := checks.ScanRequest{Name: name, File: file, Options: options}
	found, _, err := h.checks.Scan(c.Context(), c.principal, c.origin, request)
	if err != nil {
		return h.refuseScan(c, page, err)
	}
	page.Form.Sent(c)
	page.Result = readScan(c, found)
	if err := h.useChosen(c, page.Result.Found); err != nil {
		return h.refuseScan(c, page, err)
	}
	return c.show("scan.html", "Scan", page)
}

// refuseScan shows the form again, unless the caller may not use it.
func (h scanHandlers) refuseScan(c *call, page scanPage, err error) error {
	if fault.KindOf(err) == fault.Forbidden {
		return err
	}
	page.Form.Refuse(c, err)
	return c.showAgain(err, "scan.html", "Scan", page)
}

// scannedFile returns the file of the request: one that was chosen, or a text.
func scannedFile(c *call) (name string, data []byte, err error) {
	if c.MultipartForm != nil && len(c.MultipartForm.File[fieldFile]) > 0 {
		header := c.MultipartForm.File[fieldFile][0]
		file, err := header.Open()
		if err != nil {
			return "", nil, err
		}
		defer file.Close()
		if data, err = io.ReadAll(file); len(data) > 0 || err != nil {
			return views.Short(header.Filename), data, err
		}
	}
	text := strings.ReplaceAll(c.PostFormValue(fieldText), "\r\n", "\n") // browsers change the ends of lines
	if strings.TrimSpace(text) == "" {
		return "", nil, fault.InvalidField(fieldFile, "is required, or its text")
	}
	return pastedName, []byte(text), nil
}

func knownOptions(o model.Options) error {
	var problems []fault.Field
	if o.Format != "" && !slices.Contains(definitions.FormatNames(), string(o.Format)) {
		problems = append(problems, fault.Field{Field: fieldFormat, Problem: "must be one of the list"})
	}
	if o.As != "" && !slices.Contains(model.Consumers, o.As) {
		problems = append(problems, fault.Field{Field: fieldConsumer, Problem: "must be one of the list"})
	}
	if len(problems) > 0 {
		return fault.InvalidFields(problems...)
	}
	return nil
}

// readScan returns what the page shows of a file. At first, everything that can be used is chosen.
func readScan(c *call, found model.Result) *scanResult {
	list := !slices.Contains([]string{actionCheck, actionSave}, c.PostFormValue(fieldDo))
	result := &scanResult{All: len(found.Registries), Skipped: found.Skipped[:min(len(found.Skipped), maxSkipped)],
		Problems: found.Problems[:min(len(found.Problems), maxSkipped)], Summary: found.Summary}
	for i, registry := range found.Registries[:min(len(found.Registries), maxFound)] {
		one := foundDefinition{Registry: registry, ID: idOf(i, registry)}
		one.Chosen = one.Usable() && (list && i < maxChecked || slices.Contains(c.PostForm[fieldChosen], one.ID))
		result.Found = append(result.Found, one)
	}
	return result
}

// idOf identifies a definition in another request with the same file. It depends on no secret.
func idOf(index int, r model.Registry) string {
	text, err := json.Marshal([]any{index, r.Sources, r.Consumer, r.Definition})
	if err != nil {
		panic(err) // no type of a definition fails to marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// useChosen does what the button says with the chosen definitions.
func (h scanHandlers) useChosen(c *call, found []foundDefinition) error {
	action := c.PostFormValue(fieldDo)
	if action != actionCheck && action != actionSave {
		return nil
	}
	var chosen []*foundDefinition
	for i := range found {
		if found[i].Chosen {
			chosen = append(chosen, &found[i])
		}
	}
	origin := c.origin
	origin.AuditUID = "" // of one record
	switch {
	case len(chosen) == 0:
		return refusedChoice("Choose at least one definition, and the file of the list.")
	case action == actionSave:
		return h.saveChosen(c, origin, chosen)
	case len(chosen) > maxChecked:
		return refusedChoice(fmt.Sprintf("Choose at most %d definitions to check.", maxChecked))
	}
	return h.checkChosen(c, origin, chosen)
}

func refusedChoice(message string) error {
	return &fault.Error{Kind: fault.Invalid, Code: fault.CodeInvalidRequest, Message: message}
}

// checkChosen checks definitions, a few at a time, and sets their reports or why there is none.
func (h scanHandlers) checkChosen(c *call, origin audit.Origin, chosen []*foundDefinition) error {
	group, ctx := errgroup.WithContext(c.Context())
	group.SetLimit(checksAtOnce)
	for _, one := range chosen {
		group.Go(func() (err error) {
			defer recoverPanic(&err)
			report, _, err := h.checks.Validate(ctx, c.principal, origin,
				checks.Request{Action: audit.RegistryValidate, Definition: registries.SentDefinition{Definition: one.Definition}})
			h.count(report, err)
			if err != nil && fault.KindOf(err) == fault.Internal {
				return err
			}
			if report != nil {
				one.Report = fixes.Report(one.Registry, reports.Show(report, forms.Audience), forms.Audience)
			}
			if err != nil {
				one.NotChecked = words.Message(fault.Visible(err))
			}
			return nil
		})
	}
	return group.Wait()
}

// saveChosen stores definitions, and sets what became of each.
func (h scanHandlers) saveChosen(c *call, origin audit.Origin, chosen []*foundDefinition) error {
	input := registries.ImportInput{ProjectUID: projectOf(c)}
	for _, one := range chosen {
		input.Definitions = append(input.Definitions, one.Definition)
	}
	imported, err := h.registries.Import(c.Context(), c.principal, origin, input)
	for i := range imported {
		chosen[i].Imported = &imported[i]
	}
	return err
}
