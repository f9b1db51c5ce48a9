// Package vterm is a virtual terminal for tests.
package vterm

import (
	"strings"
	"sync"

	"github.com/hinshun/vt10x"
)

// Screen is a terminal that keeps what is scrolled out of it.
type Screen struct {
	mu  sync.Mutex
	vt  vt10x.Terminal
	out []string // lines that were scrolled out at the top
	raw strings.Builder
}

// New returns a terminal of that many characters.
func New(width, height int) *Screen {
	return &Screen{vt: vt10x.New(vt10x.WithSize(width, height))}
}

// Size is its width and height.
func (s *Screen) Size() (width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vt.Size()
}

// Resize makes it wider, narrower, higher or lower. What it shows is cut, not wrapped.
func (s *Screen) Resize(width, height int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vt.Resize(width, height)
}

// Write implements io.Writer. A line end also returns to the margin.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(p)
	for _, r := range strings.ReplaceAll(string(p), "\n", "\r\n") {
		_, height := s.vt.Size()
		before, top := s.vt.Cursor(), s.row(0)
		if _, err := s.vt.Write([]byte(string(r))); err != nil {
			return 0, err
		}
		if after := s.vt.Cursor(); before.Y == height-1 && after.Y == before.Y && (r == '\n' || r >= ' ' && after.X < before.X) {
			s.out = append(s.out, top)
		}
	}
	return len(p), nil
}

// Drawn is all that was written, commands to the terminal included.
func (s *Screen) Drawn() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// String is all that was shown, scrolled out or not, a line each.
func (s *Screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := append([]string{}, s.out...)
	_, height := s.vt.Size()
	for y := range height {
		lines = append(lines, s.row(y))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

func (s *Screen) row(y int) string {
	width, _ := s.vt.Size()
	row := make([]rune, width)
	for x := range width {
		if row[x] = s.vt.Cell(x, y).Char; row[x] == 0 {
			row[x] = ' '
		}
	}
	return strings.TrimRight(string(row), " ")
}
