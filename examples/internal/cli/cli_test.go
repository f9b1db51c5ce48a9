package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/examples/internal/cli"
	"github.com/convene-go/convene/providers"
)

// settings parses a command line of a program without flags of its own.
func settings(args ...string) (cli.Settings, string, error) {
	s := cli.Settings{Program: "p", DB: "p.db"}
	text, err := cli.Parse(s.Flags(), args)
	if err == nil {
		err = s.Check()
	}
	return s, text, err
}

func TestFlagsStandAnywhere(t *testing.T) {
	for _, args := range [][]string{
		{"-pace", "1s", "-new", "a b"},
		{"a b", "-pace", "1s", "-new"},
		{"-pace=1s", "a", "--new", "b"},
		{"-new", "-pace", "1s", "--", "a", "b"},
	} {
		s, text, err := settings(args...)
		require.NoError(t, err, "%q", args)
		assert.Equal(t, "a b", text, "%q", args)
		assert.Equal(t, "1s", s.Pace.String(), "%q", args)
		assert.True(t, s.Fresh, "%q", args)
	}
	s, text, err := settings("--", "-new")
	require.NoError(t, err)
	assert.Equal(t, "-new", text, "behind -- nothing is a flag")
	assert.False(t, s.Fresh)
}

func TestBadFlags(t *testing.T) {
	tests := []struct {
		args string
		want string
	}{
		{"-nonsense", "flag provided but not defined: -nonsense"},
		{"text -nonsense", "not defined: -nonsense"},
		{"-db", "flag needs an argument: -db"},
		{"-db=", "-db is empty"},
		{"-budget -1", "-budget is -1, want USD, 0 or more"},
		{"-budget NaN", "-budget is NaN"},
		{"-budget Inf", "-budget is +Inf"},
		{"-budget much", `invalid value "much" for flag -budget`},
		{"-timeout -1s", "-timeout is -1s, want 0 or more"},
		{"-calls -1", "-calls is -1, want 0 or more"},
		{"-pace -1s", "-pace is -1s, want 0 or more"},
		{"-model gpt", `-model "gpt": `},
		{"-model acme:m -budget 1", "-budget needs -price"},
		{"-model openai:m -price 1", `-price is "1", want two figures in USD`},
		{"-model openai:m -price 1,-2", `-price is "1,-2"`},
		{"-price 1,2", "a -model, which is missing"},
		{"-base-url http://localhost", "a -model, which is missing"},
		{"-key-env KEY", "a -model, which is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			_, _, err := settings(strings.Fields(tt.args)...)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestMoneyIsRoundedUp(t *testing.T) {
	s, _, err := settings("-model", "acme:m", "-price", "0.15,0.60", "-budget", "0.0000000015")
	require.NoError(t, err)
	assert.Equal(t, providers.NanoUSD(2), s.Budget)
	assert.Equal(t, &providers.Price{Input: 150_000_000, Output: 600_000_000}, s.Model.Price)
	assert.Equal(t, "acme:m", s.Who())
}

func TestText(t *testing.T) {
	const most = 64 << 10
	tests := []struct {
		name, text, in string
		want, fault    string
	}{
		{name: "as it stands", text: " a scene ", want: "a scene"},
		{name: "from the input", text: "-", in: "a scene\nwith bread\n", want: "a scene\nwith bread"},
		{name: "just small enough", text: strings.Repeat("x", most), want: strings.Repeat("x", most)},
		{name: "empty", fault: "the wish is empty: make one"},
		{name: "blank", text: " \t\n", fault: "the wish is empty"},
		{name: "empty input", text: "-", fault: "the wish is empty"},
		{name: "a megabyte", text: strings.Repeat("x", 1<<20), fault: "the wish is too large: it has more than 65536 bytes"},
		{name: "a byte too much, blank", text: "a" + strings.Repeat(" ", most), fault: "too large"},
		{name: "binary", text: "-", in: "\x00\xff\xfe", fault: "the wish is no text"},
		{name: "a command for terminals", text: "a\x1b[2Jb", fault: "the wish is no text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cli.Text(tt.text, strings.NewReader(tt.in), "wish", "make one")
			assert.Equal(t, tt.want, got)
			if tt.fault != "" {
				require.ErrorContains(t, err, tt.fault)
			} else {
				require.NoError(t, err)
			}
		})
	}
	endless := io.MultiReader(strings.NewReader(strings.Repeat("x", most+1)), iotest.ErrReader(errors.New("read to the end")))
	_, err := cli.Text("-", endless, "wish", "make one")
	require.ErrorContains(t, err, "too large")
}

func TestFilesAreCheckedNotChanged(t *testing.T) {
	dir := t.TempDir()
	fresh, old, db := filepath.Join(dir, "fresh"), filepath.Join(dir, "old"), filepath.Join(dir, "p.db")
	require.NoError(t, os.WriteFile(old, []byte("kept"), 0o600))
	s := cli.Settings{DB: db}
	require.NoError(t, s.CheckFiles(cli.File{Flag: "-o", Path: fresh}, cli.File{Flag: "-json", Path: old}, cli.File{Flag: "-none"}))
	assert.NoFileExists(t, fresh)
	data, err := os.ReadFile(old)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(data))

	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(old, link))
	for path, want := range map[string]string{
		dir:                               "is a directory",
		filepath.Join(dir, "none", "o"):   "no such file or directory",
		filepath.Join(dir, ".", "p.db"):   "is the file of -db",
		filepath.Join(dir, "x", "../old"): "is the file of -o",
		link:                              "is the file of -o",
	} {
		err := s.CheckFiles(cli.File{Flag: "-o", Path: old}, cli.File{Flag: "-json", Path: path})
		require.ErrorContains(t, err, want, path)
		require.ErrorContains(t, err, "-json", path)
	}
}

func TestRunTellsAnErrorInOneLine(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code int
		want string
	}{
		{nil, 0, ""},
		{errors.New("a\nb\x1b[2J"), cli.Failed, "p: a b[2J\n"},
		{cli.Usage("p", errors.New("bad")), cli.BadUsage, "p: bad (p -h lists the flags)\n"},
		{cli.ErrInterrupted, cli.Interrupted, "p: interrupted\n"},
	} {
		var errs bytes.Buffer
		code := cli.Run(t.Context(), "p", func(context.Context, []string, cli.Console) error { return tt.err }, nil, cli.Console{Err: &errs})
		assert.Equal(t, tt.code, code)
		assert.Equal(t, tt.want, errs.String())
	}
	require.NoError(t, cli.Usage("p", nil))
	assert.Equal(t, flag.ErrHelp, cli.Usage("p", flag.ErrHelp), "a wish for help is no fault")
}

func TestPlain(t *testing.T) {
	assert.Equal(t, "a\tb\nc", cli.Plain("a\tb\r\n\x00\x1bc\u009b"))
}

func TestWrap(t *testing.T) {
	text := cli.Wrap(strings.Repeat("“wört” ", 40)+"\n"+strings.Repeat("x", 200), "   ")
	for line := range strings.Lines(text) {
		assert.True(t, strings.HasPrefix(line, "   "), line)
		if !strings.Contains(line, "x") {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\n")), cli.Width)
		}
	}
	assert.Equal(t, 40, strings.Count(text, "“wört”"))
	assert.Equal(t, "a b…", cli.Clip(" a\n bcd", 3))
}

func TestKeys(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-test"}
	getenv := func(k string) string { return env[k] }
	for model, want := range map[string]string{
		"openai:m": "", "ollama:m": "", "anthropic:m": "ANTHROPIC_API_KEY is empty, -key-env names another one",
		"google:m": "GEMINI_API_KEY is empty", "acme:m": `unknown provider "acme"`,
	} {
		s, _, err := settings("-model", model)
		require.NoError(t, err)
		_, err = s.Open(getenv, nil)
		if want == "" {
			require.NoError(t, err, model)
		} else {
			require.ErrorContains(t, err, want, model)
		}
	}
	s, _, err := settings("-model", "openai:m", "-key-env", "ACME_KEY")
	require.NoError(t, err)
	_, err = s.Open(getenv, nil)
	require.ErrorContains(t, err, "ACME_KEY is empty", "and no other key is taken")
}

func TestFindTheNewestRun(t *testing.T) {
	log := runlog.NewMemory()
	s := cli.Settings{}
	begin := func(id, last string) {
		t.Helper()
		require.NoError(t, log.Append(t.Context(), []runlog.Record{
			{Run: id, Kind: runlog.Started}, {Run: id, Seq: 1, Kind: runlog.Called}, {Run: id, Seq: 2, Kind: last},
		}))
	}
	find := func() cli.Past {
		t.Helper()
		p, err := s.Find(t.Context(), log, "f")
		require.NoError(t, err)
		return p
	}
	assert.Equal(t, cli.Past{ID: "f"}, find())
	begin("f", runlog.Ended)
	assert.Equal(t, cli.Past{ID: "f", Records: 3, Answers: 1, Ended: true}, find())
	s.Fresh = true
	assert.Equal(t, cli.Past{ID: "f-2"}, find())
	begin("f-2", runlog.Called)
	s.Fresh = false
	assert.Equal(t, cli.Past{ID: "f-2", Records: 3, Answers: 2}, find())
	require.NoError(t, log.Append(t.Context(), []runlog.Record{
		{Run: "f-2", Seq: 3, Kind: runlog.Resumed, Data: []byte(`{"owner":"another"}`)},
	}))
	require.NoError(t, log.Beat(t.Context(), "another", time.Minute))
	assert.Equal(t, cli.Past{ID: "f-2", Records: 4, Answers: 2, Held: true}, find())
	assert.NotEqual(t, cli.Family("p", "a", "b"), cli.Family("p", "a", "c"))
}
