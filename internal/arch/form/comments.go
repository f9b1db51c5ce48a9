package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"strings"
)

// withoutSubject matches a comment that begins in the middle of a sentence.
var withoutSubject = regexp.MustCompile(`^//\s*(of|by|for|to|that|what|which|whether|while|with|without|in which|at which|the same|also|as)(\s|$|[,;:.])`)

// subjectless finds trailing comments that do not name what they are about.
func (r *repo) subjectless() []finding {
	byFolder := tally{}
	for f := range r.in(held) {
		for _, group := range f.syntax.Comments {
			first := group.List[0]
			if withoutSubject.MatchString(first.Text) && f.isTrailing(first) {
				byFolder.add(f, first, first.Text)
			}
		}
	}
	return byFolder.findings()
}

// isTrailing reports whether code stands before the comment on its line.
func (f file) isTrailing(c *ast.Comment) bool {
	at := f.fset.Position(c.Pos())
	before := f.source[at.Offset-at.Column+1 : at.Offset]
	return len(bytes.TrimSpace(before)) > 0
}

// bareFields finds exported fields of exported structs without a comment. A comment
// above a field is also for those that follow without a blank line.
func (r *repo) bareFields() []finding {
	byFolder := tally{}
	for f := range r.in(held) {
		for t := range f.types() {
			ast.Inspect(t.Type, func(n ast.Node) bool {
				if s, ok := n.(*ast.StructType); ok {
					f.bareFields(s, t.Name.Name, byFolder)
				}
				_, function := n.(*ast.FuncType)
				return !function
			})
		}
	}
	return byFolder.findings()
}

func (f file) bareFields(s *ast.StructType, of string, byFolder tally) {
	explained, last := false, 0
	for _, field := range s.Fields.List {
		first := f.line(field.Pos())
		explained = field.Doc != nil || explained && first == last+1
		last = f.line(field.End())
		if explained || field.Comment != nil {
			continue
		}
		for _, name := range field.Names {
			if name.IsExported() {
				byFolder.add(f, name, of+"."+name.Name)
			}
		}
	}
}

// tally collects places by folder.
type tally map[string][]string

func (t tally) add(f file, at ast.Node, text string) {
	t[f.dir] = append(t[f.dir], fmt.Sprintf("%s:%d: %s", f.path, f.line(at.Pos()), strings.TrimSpace(text)))
}

func (t tally) findings() (found []finding) {
	for dir, places := range t {
		found = append(found, finding{subject: dir, n: len(places), where: places})
	}
	return found
}
