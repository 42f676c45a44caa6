package reference

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const description = "info: {description: \"One `a`.\\n\\nTwo.\"}\n" + `
tags: [{name: things, description: All things}]
paths:
  /v1/things/{uid}:
    put: &put
      tags: [things]
      operationId: replaceThing
      summary: Replace a thing
      parameters: [{$ref: '#/components/parameters/Uid'}]
      requestBody:
        content:
          application/json:
            schema:
              allOf:
                - $ref: '#/components/schemas/Thing'
                - properties: {note: {type: string}}
      responses:
        '200':
          description: Replaced.
          content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Thing'}}}}
        '404': {$ref: '#/components/responses/NotFound'}
    post:
      <<: *put
      operationId: same
      security: []
components:
  parameters:
    Uid: {name: uid, in: path, required: true, description: The uid., schema: {type: string, minLength: 1}}
  responses:
    NotFound:
      description: Missing.
      content: {application/json: {schema: {properties: {code: {enum: [A, B]}}}}}
    Unused: {description: Of another group.}
  schemas:
    Thing:
      type: object
      required: [name, parts]
      properties:
        name: {type: string, maxLength: 64}
        kind: {type: [string, 'null'], enum: ['', helm], default: helm}
        parts: {type: array, items: {type: object, required: [size], properties: {size: {$ref: '#/components/schemas/Size'}}}}
        labels: {type: object, additionalProperties: {type: string}}
    Size: {type: integer, minimum: 1}
    Unused: {type: string}
`

func TestRead(t *testing.T) {
	all, err := Read([]byte(description))
	if err != nil {
		t.Fatal(err)
	}
	group, ok := all.Group("things")
	if !ok || len(group.Operations) != 2 {
		t.Fatalf("%+v", all)
	}
	replace := group.Operations[0]
	body := replace.Bodies[0].Schema
	thing := []Type{{Schema: "Thing"}}
	for what, pair := range map[string][2]any{
		"text": {all.Description, Text{{{"One ", false}, {"a", true}, {".", false}}, {{"Two.", false}}}},
		"parameters": {replace.Parameters, []Parameter{{Row{"uid", true, []Type{{Text: "string"}}, textOf("The uid."),
			[]string{"Must not be empty."}}, "path"}}},
		"body":      {body.Types, thing},
		"members":   {body.Rows, []Row{{Name: "note", Types: []Type{{Text: "string"}}}}},
		"response":  {replace.Responses[0].Bodies[0].Schema.Types, []Type{{Text: "list of ", Schema: "Thing"}}},
		"error":     {replace.Errors, []ErrorRef{{"404", "NotFound"}}},
		"errors":    {group.Errors, []Error{{Described{"NotFound", textOf("Missing.")}, []string{"A", "B"}}}},
		"anonymous": {[]bool{replace.Anonymous, group.Operations[1].Anonymous}, []bool{false, true}},
		"schemas": {group.Schemas, []Schema{
			{Row{Name: "Thing", Types: []Type{{Text: "object"}}}, []Row{
				{"name", true, []Type{{Text: "string"}}, nil, []string{"At most 64 characters."}},
				{"kind", false, []Type{{Text: "string"}, {Text: "null"}}, nil, []string{`One of "", helm.`, "Default helm."}},
				{Name: "parts", Required: true, Types: []Type{{Text: "list of object"}}},
				{Name: "parts[].size", Required: true, Types: []Type{{Schema: "Size"}}},
				{Name: "labels", Types: []Type{{Text: "map of string"}}},
			}},
			{Row: Row{Name: "Size", Types: []Type{{Text: "integer"}}, Rules: []string{"At least 1."}}},
		}},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	const want = "curl -sS --fail-with-body -X PUT \"$REGWARDEN_SERVER/v1/things/$uid\" \\\n  -H \"ApiKey: $REGWARDEN_API_KEY\" \\\n  " +
		"-H 'Content-Type: application/json' \\\n  -d '{\"name\":\"<name>\",\"parts\":[{\"size\":1}]}'"
	if replace.Curl != want {
		t.Errorf("got  %s\nwant %s", replace.Curl, want)
	}
	if strings.Contains(group.Operations[1].Curl, "ApiKey") {
		t.Errorf("without credentials: %s", group.Operations[1].Curl)
	}
}

func TestReadReportsWhatIsMissing(t *testing.T) {
	if _, err := Read([]byte(strings.Replace(description, "parameters/Uid", "parameters/None", 1))); err == nil ||
		!strings.Contains(err.Error(), "has no None") {
		t.Errorf("got %v", err)
	}
}
