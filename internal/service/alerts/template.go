package alerts

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/regwarden/regwarden/internal/lazyregexp"
	"github.com/regwarden/regwarden/internal/service/alertbodies"
)

// maxUnknown is how many unknown placeholders an error names.
const maxUnknown = 5

var placeholder = lazyregexp.New(`\{\{[^{}]{0,64}\}\}`)

// values returns the placeholders of a template with their values.
func values(n payload) [][2]string {
	var r Registry
	if n.Registry != nil {
		r = *n.Registry
	}
	return [][2]string{
		{"{{message}}", n.Message}, {"{{kind}}", string(n.Kind)}, {"{{component}}", n.Component}, {"{{organization}}", n.Organization.Name},
		{"{{channel}}", n.Channel},
		{"{{registry}}", r.Name}, {"{{endpoint}}", r.Endpoint}, {"{{code}}", r.Current.Code}, {"{{field}}", r.Current.Field},
		{"{{result}}", r.Current.Message}, {"{{hint}}", r.Current.Hint},
		{"{{link}}", n.Link}, {"{{action}}", n.action()}, {"{{incident}}", n.incident()},
		{"{{at}}", n.At.UTC().Format(time.RFC3339)}, {"{{deliveryId}}", n.DeliveryID}, {"{{alertUid}}", n.UID},
	}
}

// content returns the payload as JSON, or the template of the channel with values for its placeholders. Values are escaped as the
// inside of a JSON string, so that the name of a registry cannot change the structure of the body.
func content(template string, n payload) (string, error) {
	if template == "" {
		body, err := json.Marshal(n)
		return string(body), err
	}
	var pairs []string
	for _, p := range values(n) {
		quoted, err := json.Marshal(p[1])
		if err != nil {
			return "", err
		}
		pairs = append(pairs, p[0], string(quoted[1:len(quoted)-1]))
	}
	return strings.NewReplacer(pairs...).Replace(template), nil
}

// checkTemplate reports unknown placeholders, which would be sent unchanged.
func checkTemplate(template string, found *problems) {
	if template == alertbodies.Opsgenie {
		return
	}
	var known, unknown []string
	for _, p := range values(payload{}) {
		known = append(known, p[0])
	}
	for _, used := range placeholder.Get().FindAllString(template, -1) {
		if !slices.Contains(known, used) && !slices.Contains(unknown, used) && len(unknown) < maxUnknown {
			unknown = append(unknown, used)
		}
	}
	if len(unknown) > 0 {
		found.add("http.body", "has unknown placeholders: %s; must be among %s", strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
}
