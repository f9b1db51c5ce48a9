// Package prompt makes prompts of templates: a team's own ones, which its host may
// replace one by one. Text of agents and users reaches a template only through the
// function data, which delimits it so that it cannot pass for instructions.
package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"
)

// Set are the templates of a team. The zero Set has none.
type Set struct{ templates *template.Template }

// Source says where templates come from.
type Source struct {
	Own     fs.FS            // the team's, by name; each of Samples is there
	Host    fs.FS            // nil: none; a file that is there replaces the team's
	Samples map[string][]any // by file name: what fills the template; all are tried, so that a wrong field shows early
	Quote   int              // bytes that data quotes of a text; 0: all
	Funcs   template.FuncMap // beside data and inc
}

// New reads the templates. All faults are in the one error, which names the files.
func New(s Source) (Set, error) {
	root := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"data": func(label, text string) string { return Delimit(label, text, s.Quote) },
		"inc":  func(i int) int { return i + 1 },
	}).Funcs(s.Funcs)
	set := Set{root}
	faults := map[string]error{}
	names := slices.Sorted(maps.Keys(s.Samples))
	for _, name := range names {
		text, err := s.read(name)
		if err == nil {
			_, err = root.New(name).Parse(text)
		}
		faults[name] = err
	}
	var errs []error
	for _, name := range names {
		err := faults[name]
		for _, sample := range s.Samples[name] {
			if err == nil {
				_, err = set.Fill(name, sample)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompts: %w", err))
		}
	}
	return set, errors.Join(errs...)
}

func (s Source) read(name string) (string, error) {
	if s.Host != nil {
		text, err := fs.ReadFile(s.Host, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(text), err
		}
	}
	text, err := fs.ReadFile(s.Own, name)
	return string(text), err
}

// Fill executes a template.
func (s Set) Fill(name string, values any) (string, error) {
	var b strings.Builder
	if err := s.templates.ExecuteTemplate(&b, name, values); err != nil {
		return "", fmt.Errorf("fill prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

var endOfData = regexp.MustCompile(`(?i)</(\s*data)`)

// Delimit quotes text as data, cut to limit bytes (0: whole). The text cannot end
// its quotation.
func Delimit(label, text string, limit int) string {
	text = endOfData.ReplaceAllString(Cut(text, limit), `<\/$1`)
	label = strings.NewReplacer("\"", "'", "<", "(", ">", ")", "\n", " ", "\r", " ").Replace(label)
	return fmt.Sprintf("<data name=%q>\n%s\n</data>", label, text)
}

// Cut shortens text to limit bytes (0: whole), at the boundary of a rune, and says
// so.
func Cut(text string, limit int) string {
	if limit <= 0 || len(text) <= limit {
		return text
	}
	at := limit
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return fmt.Sprintf("%s\n[cut: the first %d of %d bytes]", text[:at], at, len(text))
}

// OneLine makes one line of a text.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
