package reference

import (
	"net/url"
	"slices"
	"strings"
)

// maxHits bounds each list of hits: who gets more needs another word.
const maxHits = 50

// Found are the hits of a search, without empty groups.
type Found struct {
	Groups []Hits
	More   bool // there are more than those
}

// Hits are the hits of one kind.
type Hits struct {
	Title string
	Hits  []Hit
}

// Hit is an operation, a schema or an error. Fields are its members that have one of the words in their name.
type Hit struct {
	Title, Detail, Path string
	Fields              []string

	inTitle bool // all words are in title and detail
}

// Find finds what contains all words of a text, in any letter case: in names, paths, fields and descriptions. Hits by their title come
// first. A schema or error that several groups use is found once.
func (r *Reference) Find(text string) (found Found) {
	words := strings.Fields(strings.ToLower(text))
	if len(words) == 0 {
		return found
	}
	operations, schemas, errors := Hits{Title: "Operations"}, Hits{Title: "Schemas"}, Hits{Title: "Errors"}
	for _, g := range r.Groups {
		page := "/docs/" + url.PathEscape(g.Name) + "#"
		for _, o := range g.Operations {
			operations.add(words, Hit{Title: o.Summary, Detail: o.Method + " " + o.Path, Path: page + o.ID}, o.rows(),
				append(o.texts(), o.ID))
		}
		for _, s := range g.Schemas {
			schemas.add(words, Hit{Title: s.Name, Path: page + "schema-" + s.Name}, s.Rows,
				[]string{s.Description.plain()})
		}
		for _, e := range g.Errors {
			errors.add(words, Hit{Title: e.Name, Detail: strings.Join(e.Codes, ", "), Path: page + "error-" + e.Name}, nil,
				[]string{e.Description.plain()})
		}
	}
	for _, group := range []Hits{operations, schemas, errors} {
		slices.SortStableFunc(group.Hits, func(a, b Hit) int { return order(a.inTitle) - order(b.inTitle) })
		found.More = found.More || len(group.Hits) > maxHits
		group.Hits = group.Hits[:min(len(group.Hits), maxHits)]
		if len(group.Hits) > 0 {
			found.Groups = append(found.Groups, group)
		}
	}
	return found
}

func order(inTitle bool) int {
	if inTitle {
		return 0
	}
	return 1
}

// add adds a hit unless it is there or lacks one of the words.
func (h *Hits) add(words []string, hit Hit, rows []Row, texts []string) {
	title := strings.ToLower(hit.Title + " " + hit.Detail)
	all := title + " " + strings.ToLower(strings.Join(texts, " "))
	for _, row := range rows {
		name := strings.ToLower(row.Name)
		all += " " + name + " " + strings.ToLower(row.Description.plain()+" "+strings.Join(row.Rules, " "))
		if slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) }) {
			hit.Fields = append(hit.Fields, row.Name)
		}
	}
	hit.inTitle = !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(title, word) })
	isThere := slices.ContainsFunc(h.Hits, func(one Hit) bool { return one.Title == hit.Title && one.Detail == hit.Detail })
	if !isThere && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all, word) }) {
		h.Hits = append(h.Hits, hit)
	}
}

// rows returns the parameters of an operation, and the members of its bodies that no named schema has.
func (o Operation) rows() (rows []Row) {
	for _, p := range o.Parameters {
		rows = append(rows, p.Row)
	}
	for _, b := range o.Bodies {
		rows = append(rows, b.Schema.Rows...)
	}
	for _, response := range o.Responses {
		for _, b := range response.Bodies {
			rows = append(rows, b.Schema.Rows...)
		}
	}
	return rows
}

func (o Operation) texts() []string {
	texts := []string{o.Description.plain()}
	for _, response := range o.Responses {
		texts = append(texts, response.Description.plain())
	}
	return texts
}

// plain returns the text without markup.
func (t Text) plain() string {
	var b strings.Builder
	for _, paragraph := range t {
		for _, span := range paragraph {
			b.WriteString(span.Text)
		}
		b.WriteByte(' ')
	}
	return b.String()
}
