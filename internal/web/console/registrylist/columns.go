package registrylist

import (
	"strings"

	"github.com/regwarden/regwarden/internal/service/registries"
)

// Column is a heading of the table. One by which the table can be sorted has the address of that table.
type Column struct {
	Label string
	Path  string
	Next  string // the order of the table at Path, in words
	Order string // the value of aria-sort; empty if the table has another order
	Class string // of its width
	Wide  bool
}

// order is how a column sorts: first one way, and then the other.
type order struct {
	by              registries.Sort
	words, opposite string // what is first
	descending      bool   // the first way
}

var orders = map[string]order{
	"Registry": {registries.SortByName, "A to Z", "Z to A", false},
	"Health":   {registries.SortByHealth, "failing first", "healthy first", false},
	"Since":    {registries.SortBySince, "newest first", "oldest first", true},
	"Expires":  {registries.SortByExpiry, "soonest first", "latest first", false},
}

// wide are the columns that only wide windows show, and phones do not.
var wide = map[string]bool{"Kind": true, "Content": true}

func columns(r Request) (list []Column) {
	for _, label := range []string{"Registry", "Health", "Cause", "Since", "Expires", "Labels", "Kind", "Content", "Last check"} {
		c := column(label, r)
		c.Wide, c.Class = wide[label], strings.ToLower(strings.Fields(label)[0])
		list = append(list, c)
	}
	return list
}

// column returns a heading, which leads to the opposite order if the table is sorted by it.
func column(label string, r Request) Column {
	o, sorts := orders[label]
	c := Column{Label: label}
	if !sorts {
		return c
	}
	next, words := o.by, o.words
	if r.Sort == o.by {
		next, words, c.Order = o.by.Opposite(), o.opposite, direction(o.descending)
	} else if r.Sort == o.by.Opposite() {
		c.Order = direction(!o.descending)
	}
	c.Path, c.Next = r.Path("sort", string(next)), words
	return c
}

func direction(descending bool) string {
	if descending {
		return "descending"
	}
	return "ascending"
}
