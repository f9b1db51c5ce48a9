package answer

import "slices"

// maxFixes is how many different fixes are noted of one answer.
const maxFixes = 20

// fixes lists what was done to a value, each thing once.
type fixes struct{ list []string }

func (f *fixes) add(fix string) {
	if len(f.list) > maxFixes || slices.Contains(f.list, fix) {
		return
	}
	if len(f.list) == maxFixes {
		fix = "and more"
	}
	f.list = append(f.list, fix)
}

func (f *fixes) addAll(other fixes) {
	for _, fix := range other.list {
		f.add(fix)
	}
}

func (f *fixes) clone() fixes { return fixes{slices.Clone(f.list)} }
