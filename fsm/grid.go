package fsm

import (
	"fmt"
	"strings"
)

// String returns the table as text for golden files: one line per state, one
// column per event, both in table order, and in each cell the state to which the
// event leads, or "-". Roles and guards are not shown; Mermaid shows them.
func (t *Table[S, E, R]) String() string {
	rows := [][]string{{""}}
	for _, event := range t.events {
		rows[0] = append(rows[0], string(event))
	}
	for _, state := range t.def.States {
		row := []string{string(state)}
		for _, event := range t.events {
			cell := "-"
			if to, ok := t.Next(state, event); ok {
				cell = string(to)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return align(rows)
}

// align returns rows as lines whose columns are as wide as their widest cell, two
// spaces apart. All rows have the same length.
func align(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s  ", widths[i], cell)
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return text.String()
}
