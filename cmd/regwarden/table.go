package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
)

// printTable prints rows as a table, or as a list of JSON objects with the columns as keys.
func printTable(cmd *cobra.Command, asJSON bool, columns []string, rows [][]any) error {
	if asJSON {
		objects := make([]map[string]any, len(rows))
		for i, row := range rows {
			objects[i] = map[string]any{}
			for j, column := range columns {
				objects[i][column] = jsonValue(row[j])
			}
		}
		return printJSON(cmd, objects)
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.ToUpper(strings.Join(columns, "\t")))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = cell(value)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// jsonValue returns a value for JSON: RFC 3339 for a time, null for a zero time or an empty text.
func jsonValue(value any) any {
	switch v := value.(type) {
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UTC().Format(time.RFC3339)
	case string:
		if v == "" {
			return nil
		}
	}
	return value
}

// cell returns a value for a table: "-" for a zero time or an empty text.
func cell(value any) string {
	if list, ok := value.([]string); ok {
		value = strings.Join(list, ",")
	}
	value = jsonValue(value)
	if value == nil {
		return "-"
	}
	return fmt.Sprint(value)
}
