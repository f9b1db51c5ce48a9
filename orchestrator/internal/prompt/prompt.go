// Package prompt makes prompts of templates: those of a team, which its host may
// replace one by one. Text of agents and users reaches a template only through the
// function data, which delimits it so that it cannot pass for instructions.
package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/convene-go/convene/internal/text"
)

// Set are the templates of a team. The zero Set has none.
type Set struct{ templates *template.Template }

// Source says where templates come from.
type Source struct {
	Own     fs.FS            // the team's, by name; each of Samples is there
	Host    fs.FS            // nil: none; a file that is there replaces the team's of the same name
	Samples map[string][]any // by file name: what fills the template; all are tried, so that a wrong field shows early
	Quote   int              // bytes that data quotes of a text; 0: all
	Funcs   template.FuncMap // beside data and inc
}

// New reads the templates. All faults are in the one error, which names the files.
func New(s Source) (Set, error) {
	root := template.New("").Option("missingkey=error").Funcs(template.FuncMap{
		"data": func(label, body string) string { return Delimit(label, body, s.Quote) },
		"inc":  func(i int) int { return i + 1 },
	}).Funcs(s.Funcs)
	set := Set{root}
	var errs []error
	names := slices.Sorted(maps.Keys(s.Samples))
	if err := s.unknown(names); err != nil {
		errs = append(errs, err)
	}
	for _, name := range names {
		body, err := s.read(name)
		if err == nil {
			_, err = root.New(name).Parse(body)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("prompts: %w", err))
		}
	}
	for _, name := range names {
		for _, sample := range s.Samples[name] {
			if root.Lookup(name) == nil {
				break // its fault is told
			}
			if _, err := set.Fill(name, sample); err != nil {
				errs = append(errs, fmt.Errorf("prompts: %w", err))
				break
			}
		}
	}
	return set, errors.Join(errs...)
}

// unknown returns an error if the host has files that are no templates of the team.
func (s Source) unknown(names []string) error {
	if s.Host == nil {
		return nil
	}
	var errs []error
	err := fs.WalkDir(s.Host, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(names, name) {
			errs = append(errs, fmt.Errorf("prompts: %s is no template of the team, want one of %s", name, strings.Join(names, ", ")))
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("prompts: %w", err)
	}
	return errors.Join(append(errs, err)...)
}

func (s Source) read(name string) (string, error) {
	if s.Host != nil {
		body, err := fs.ReadFile(s.Host, name)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return string(body), err
		}
	}
	body, err := fs.ReadFile(s.Own, name)
	return string(body), err
}

// Fill executes a template.
func (s Set) Fill(name string, values any) (string, error) {
	var b strings.Builder
	if err := s.templates.ExecuteTemplate(&b, name, values); err != nil {
		return "", fmt.Errorf("fill prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// Delimit quotes text as data, cut to limit bytes (0: whole). The text cannot end
// its quotation.
func Delimit(label, body string, limit int) string {
	label = strings.NewReplacer("\"", "'", "<", "(", ">", ")", "\n", " ", "\r", " ").Replace(label)
	return text.Delimit("data", fmt.Sprintf(" name=%q", label), text.Cut(body, limit))
}

// OneLine makes one line of a text.
func OneLine(s string) string { return text.OneLine(s) }
