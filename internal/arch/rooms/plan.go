package main

import (
	"fmt"
	"go/doc/comment"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// plan says who uses whom. Files are numbered in reading order.
type plan struct {
	files  []string                  // "room/file.go"
	arrows map[arrow]map[string]bool // and the names that are used
	faults []string                  // faults of the lists in package comments
}

// arrow goes from the file that uses names to the one that declares them.
type arrow struct{ from, to int }

func (a arrow) backward() bool { return a.to < a.from }

func newPlan(rooms []room) *plan {
	p := &plan{arrows: map[arrow]map[string]bool{}}
	number := map[string]int{} // number of each file, by its path in the file set
	for _, r := range rooms {
		for _, path := range p.readingOrder(r) {
			number[path] = len(p.files)
			p.files = append(p.files, r.name+"/"+filepath.Base(path))
		}
	}
	for _, r := range rooms {
		for id, object := range r.uses {
			to, known := number[r.fset.Position(object.Pos()).Filename]
			from := number[r.fset.Position(id.Pos()).Filename]
			if !known || from == to {
				continue
			}
			a := arrow{from, to}
			if p.arrows[a] == nil {
				p.arrows[a] = map[string]bool{}
			}
			p.arrows[a][object.Name()] = true
		}
	}
	return p
}

// readingOrder returns the paths of a room's files, as its comment lists them. Files
// that are not listed follow.
func (p *plan) readingOrder(r room) (paths []string) {
	have := map[string]string{}
	var doc strings.Builder
	for _, f := range r.files {
		if len(f.Decls) > 0 {
			path := r.fset.Position(f.Package).Filename
			have[filepath.Base(path)] = path
		}
		doc.WriteString(f.Doc.Text())
	}
	for _, name := range listedFiles(doc.String()) {
		if have[name] == "" {
			p.faults = append(p.faults, fmt.Sprintf("the comment of package %s lists %s, which is not there or listed before: remove it", r.name, name))
			continue
		}
		paths = append(paths, have[name])
		delete(have, name)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		p.faults = append(p.faults, fmt.Sprintf("the comment of package %s does not list %s: add it below \"# Files\", above all that it uses", r.name, name))
		paths = append(paths, have[name])
	}
	return paths
}

// listedFiles are the names in the list below the heading "Files".
func listedFiles(doc string) (names []string) {
	below := false
	for _, block := range new(comment.Parser).Parse(doc).Content {
		switch b := block.(type) {
		case *comment.Heading:
			below = plain(b.Text) == "Files"
		case *comment.List:
			for _, item := range b.Items {
				if text, ok := item.Content[0].(*comment.Paragraph); ok && below {
					name, _, _ := strings.Cut(plain(text.Text), ":")
					names = append(names, name)
				}
			}
		}
	}
	return names
}

func plain(texts []comment.Text) string {
	var s strings.Builder
	for _, t := range texts {
		if p, ok := t.(comment.Plain); ok {
			s.WriteString(string(p))
		}
	}
	return s.String()
}

// backward lists the arrows against the reading order, with the names that make them.
func (p *plan) backward() (lines []string) {
	for _, a := range p.sorted() {
		if a.backward() {
			names := slices.Sorted(maps.Keys(p.arrows[a]))
			lines = append(lines, fmt.Sprintf("%s uses %s of %s, which is read before it", p.files[a.from], strings.Join(names, ", "), p.files[a.to]))
		}
	}
	return lines
}

func (p *plan) sorted() []arrow {
	return slices.SortedFunc(maps.Keys(p.arrows), func(a, b arrow) int {
		return slices.Compare([]int{a.from, a.to}, []int{b.from, b.to})
	})
}

// check returns what is wrong with the rooms, and what to do about it.
func (p *plan) check(arrows int) []string {
	faults := slices.Clone(p.faults)
	for _, line := range p.backward() {
		faults = append(faults, "backward: "+line+": move the names down, or pass the caller an interface or a function")
	}
	if n := len(p.arrows); n > arrows {
		faults = append(faults, fmt.Sprintf("%d arrows between files, at most %d: join files that always go together, or let them meet in fewer names", n, arrows))
	}
	return faults
}

// String is the matrix: a row uses so many names of a column. What stands left of
// the diagonal is backward.
func (p *plan) String() string {
	w := new(strings.Builder)
	fmt.Fprintf(w, "%-24s", "names used of file")
	for i := range p.files {
		fmt.Fprintf(w, "%4d", i+1)
	}
	for from, name := range p.files {
		fmt.Fprintf(w, "\n%3d %-20s", from+1, name)
		for to := range p.files {
			cell := "."
			if n := len(p.arrows[arrow{from, to}]); n > 0 {
				cell = fmt.Sprint(n)
			} else if from == to {
				cell = `\`
			}
			fmt.Fprintf(w, "%4s", cell)
		}
	}
	back := p.backward()
	fmt.Fprintf(w, "\n%d files, %d arrows, %d of them backward: %s\n", len(p.files), len(p.arrows), len(back), p.byRoom())
	for _, line := range slices.Concat(back, p.faults) {
		fmt.Fprintln(w, " ", line)
	}
	return w.String()
}

// byRoom counts the arrows within rooms and between them.
func (p *plan) byRoom() string {
	var places []string // in reading order
	arrows := map[string]int{}
	for _, a := range p.sorted() {
		from, to := path.Dir(p.files[a.from]), path.Dir(p.files[a.to])
		place := "in " + from
		if from != to {
			place = from + " to " + to
		}
		if arrows[place]++; arrows[place] == 1 {
			places = append(places, place)
		}
	}
	for i, place := range places {
		places[i] = fmt.Sprint(arrows[place], " ", place)
	}
	return strings.Join(places, ", ")
}
