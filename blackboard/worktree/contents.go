package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/convene-go/convene/internal/git"
	"github.com/convene-go/convene/internal/safepath"
)

// Changed returns the files that differ in a commit from another one, "" for its first
// parent: the hash of each by its path, "" for a removed one.
func (w *Trees) Changed(ctx context.Context, from, to string) (map[string]string, error) {
	if from != "" && !commitID.MatchString(from) || !commitID.MatchString(to) {
		return nil, fmt.Errorf("worktree: changed: %q or %q is no commit", from, to)
	}
	if from == "" {
		from = to + "^"
	}
	out, err := w.do(ctx, "diff", "--raw", "-z", "--no-renames", "--no-abbrev", from, to, "--")
	if err != nil {
		return nil, fmt.Errorf("worktree: changed: %w", err)
	}
	files := map[string]string{}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(fields[i]) // modes, hashes, letter
		if len(words) < 5 {
			return nil, fmt.Errorf("worktree: changed: git diff --raw says %q", fields[i])
		}
		hash := words[3]
		if strings.Trim(hash, "0") == "" {
			hash = ""
		}
		files[fields[i+1]] = hash
	}
	return files, nil
}

// Brought is [Trees.Changed] for a merge of a commit. It is empty if it is no such merge: then
// the commit was in the branch without one, see [Merge].
func (w *Trees) Brought(ctx context.Context, merge, commit string) (map[string]string, error) {
	if !commitID.MatchString(merge) {
		return nil, fmt.Errorf("worktree: brought: %q is no commit", merge)
	}
	out, err := w.do(ctx, "log", "-1", "--format=%P", merge)
	if err != nil {
		return nil, fmt.Errorf("worktree: brought: %w", err)
	}
	parents := strings.Fields(out)
	if len(parents) < 2 || !slices.Contains(parents[1:], commit) {
		return map[string]string{}, nil
	}
	return w.Changed(ctx, parents[0], merge)
}

// Diff returns what a commit of t has that the branch into does not have, which it is to be
// merged into ("" is [Trees.Target]), as text of at most limit bytes; of a longer one, it
// says how much is missing. Of one with more than 32 MiB it has no more than the names of the
// files, and says so. What came from that branch is left out.
func (w *Trees) Diff(ctx context.Context, t Tree, commit, into string, limit int) (string, error) {
	from, err := w.forked(ctx, t, commit, into)
	var text string
	if err == nil {
		text, err = w.diff(ctx, from, commit)
	}
	if err != nil {
		return "", fmt.Errorf("worktree: diff of %q: %w", t.Task, err)
	}
	return cut(text, limit), nil
}

func (w *Trees) diff(ctx context.Context, from, to string) (string, error) {
	text, err := w.do(ctx, "diff", "--no-color", "--stat=200", "--patch", from, to, "--")
	if errors.Is(err, git.ErrOutput) {
		text, err = w.do(ctx, "diff", "--no-color", "--stat=200", from, to, "--")
		text = "[the changes are too long: only the names of the files are shown]\n" + text
	}
	return text, err
}

// cut returns at most limit bytes of text, in whole characters, and says what is missing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return fmt.Sprintf("%s\n[truncated: %d of %d bytes are shown]", text[:limit], limit, len(text))
}

// Artifact is a file at a commit.
type Artifact struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`             // in bytes
	Binary bool   `json:"binary,omitempty"` // then there is no text
	Text   string `json:"text,omitempty"`   // cut, with a note, if it is long
}

// largest is the size beyond which a file counts as binary.
const largest = 16 << 20

// Read returns a file at a commit, with at most limit bytes of its text. A path that is
// not there, or is no file, is fs.ErrNotExist.
func (w *Trees) Read(ctx context.Context, commit, name string, limit int) (Artifact, error) {
	a, err := w.read(ctx, commit, name, limit)
	if err != nil {
		return Artifact{}, fmt.Errorf("worktree: read: %w", err)
	}
	return a, nil
}

func (w *Trees) read(ctx context.Context, commit, name string, limit int) (Artifact, error) {
	clean, err := safepath.Clean(name)
	if err != nil {
		return Artifact{}, err
	}
	if !commitID.MatchString(commit) {
		return Artifact{}, fmt.Errorf("%q is no commit", commit)
	}
	out, err := w.do(ctx, "--literal-pathspecs", "ls-tree", "-z", "--long", "--full-tree", commit, "--", clean)
	if err != nil {
		return Artifact{}, err
	}
	head, _, _ := strings.Cut(out, "\t")
	fields := strings.Fields(head) // mode, type, object, size
	if len(fields) != 4 || fields[1] != "blob" {
		return Artifact{}, fmt.Errorf("%q: %w", clean, fs.ErrNotExist)
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return Artifact{}, err
	}
	a := Artifact{Path: clean, Size: size, Binary: size > largest}
	if a.Binary {
		return a, nil
	}
	r := w.git
	text, err := r.Run(ctx, "cat-file", "blob", fields[2])
	if err != nil {
		return Artifact{}, err
	}
	if a.Binary = strings.ContainsRune(text, 0) || !utf8.ValidString(text); !a.Binary {
		a.Text = cut(text, limit)
	}
	return a, nil
}
