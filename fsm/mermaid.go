package fsm

import (
	"fmt"
	"slices"
	"strings"
)

// Mermaid returns the table as a Mermaid state diagram in table order, with
// every any-rule spelled out. An arrow's label is the event, then "by" and the
// roles, then the guard in brackets. The state current is highlighted; if it is
// empty or not in the table, none is.
func (t *Table[S, E, R]) Mermaid(current S) string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	ids := t.mermaidIDs()

	line("stateDiagram-v2")
	for _, state := range t.def.States {
		if ids[state] != string(state) {
			line("    state \"%s\" as %s", mermaidText(string(state)), ids[state])
		}
	}
	line("    [*] --> %s", ids[t.def.Initial])
	for _, rule := range t.def.Rules {
		for _, from := range t.def.sources(rule) {
			line("    %s --> %s: %s", ids[from], ids[rule.To], mermaidText(label(rule)))
		}
	}
	for _, state := range t.def.States {
		if t.Terminal(state) {
			line("    %s --> [*]", ids[state])
		}
	}
	if id, ok := ids[current]; ok {
		line("    classDef current fill:#fd6,stroke:#333")
		line("    class %s current", id)
	}
	return text.String()
}

func label[S, E, R ~string](rule Rule[S, E, R]) string {
	text := string(rule.On)
	if len(rule.Roles) > 0 {
		text += " by " + commas(rule.Roles)
	}
	if rule.Guard != "" {
		text += " [" + rule.Guard + "]"
	}
	return text
}

// mermaidIDs returns how the states are called in a diagram: by their own names
// or, if one of these would not be read as a name, all by numbers.
func (t *Table[S, E, R]) mermaidIDs() map[S]string {
	plain := !slices.ContainsFunc(t.def.States, func(state S) bool { return !mermaidName(string(state)) })
	ids := make(map[S]string, len(t.def.States))
	for i, state := range t.def.States {
		ids[state] = string(state)
		if !plain {
			ids[state] = fmt.Sprintf("s%d", i)
		}
	}
	return ids
}

// mermaidWords mean something else in a state diagram.
var mermaidWords = []string{
	"as", "class", "classdef", "click", "default", "direction", "end", "href", "note", "scale", "state", "style",
}

func mermaidName(name string) bool {
	odd := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}
	return !strings.ContainsFunc(name, odd) && !slices.Contains(mermaidWords, strings.ToLower(name))
}

// mermaidEntities are the characters that would end a label.
var mermaidEntities = strings.NewReplacer("#", "#35;", ";", "#59;", ":", "#58;", `"`, "#34;", "<", "#60;", ">", "#62;", "\n", " ")

func mermaidText(text string) string { return mermaidEntities.Replace(text) }
