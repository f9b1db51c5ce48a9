package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/examples/internal/cli"
)

func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("These are notes and no database at all.\n"), 0o600))
	key := map[string]string{"OPENAI_API_KEY": "sk-test", "AZURE_OPENAI_API_KEY": "sk-test"}
	aws := map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}
	tests := []struct {
		name string
		env  map[string]string
		args []string
		code int
		want string
	}{
		{"unknown flag", nil, []string{"-nonsense", bread}, 2, "flag provided but not defined: -nonsense (film -h lists the flags)"},
		{"unknown flag behind the request", nil, []string{bread, "-nonsense"}, 2, "not defined: -nonsense"},
		{"line break and terminal command", nil, []string{"-non\nsense\x1b[2J"}, 2, "not defined: -non sense[2J (film"},
		{"no request", nil, nil, 2, "the request is empty"},
		{"empty request", nil, []string{""}, 2, "the request is empty"},
		{"blank request", nil, []string{" \t\n"}, 2, "the request is empty"},
		{"empty input", nil, []string{"-"}, 2, "the request is empty"},
		{"a megabyte", nil, []string{strings.Repeat("bread ", 1<<20/6)}, 2, "the request is too large: it has more than 65536 bytes"},
		{"negative budget", nil, []string{bread, "-budget", "-1"}, 2, "-budget is -1, want USD, 0 or more"},
		{"budget that is no number", nil, []string{bread, "-budget", "NaN"}, 2, "-budget is NaN"},
		{"endless budget", nil, []string{bread, "-budget", "Inf"}, 2, "-budget is +Inf"},
		{"budget in words", nil, []string{bread, "-budget", "much"}, 2, `invalid value "much" for flag -budget`},
		{"negative timeout", nil, []string{bread, "-timeout", "-1s"}, 2, "-timeout is -1s"},
		{"negative calls", nil, []string{bread, "-calls", "-1"}, 2, "-calls is -1"},
		{"negative pace", nil, []string{bread, "-pace", "-1s"}, 2, "-pace is -1s"},
		{"no value", nil, []string{bread, "-db"}, 2, "flag needs an argument: -db"},
		{"empty db", nil, []string{bread, "-db", ""}, 2, "-db is empty"},
		{"directory as db", nil, []string{bread, "-db", dir}, 1, dir},
		{"text as db", nil, []string{bread, "-db", text}, 1, text},
		{"db in no directory", nil, []string{bread, "-db", filepath.Join(dir, "none", "f.db")}, 1, "none"},
		{"directory as outcome", nil, []string{bread, "-o", dir}, 2, "is a directory"},
		{"outcome in no directory", nil, []string{bread, "-o", filepath.Join(dir, "none", "o.json")}, 2, "no such file or directory"},
		{"the database as outcome", nil, []string{bread, "-db", "./f.db", "-o", "f.db"}, 2, "-o f.db is the file of -db"},
		{"model without provider", key, []string{bread, "-model", "gpt"}, 2, `-model "gpt": `},
		{"unknown provider", key, []string{bread, "-model", "acme:gpt"}, 2, `unknown provider "acme"`},
		{"no key", nil, []string{bread, "-model", "openai:gpt-4o-mini"}, 2, "OPENAI_API_KEY is empty, -key-env names another one"},
		{"no key of this provider", key, []string{bread, "-model", "anthropic:claude"}, 2, "ANTHROPIC_API_KEY is empty, -key-env names another one"},
		{"no other key", key, []string{bread, "-model", "openai:gpt-4o-mini", "-key-env", "ACME_KEY"}, 2, "ACME_KEY is empty"},
		{"budget without a price", key, []string{bread, "-model", "openai:unheard", "-budget", "1"}, 2, "-budget needs -price"},
		{"budget at a service with prices of its own", key, []string{bread, "-model", "openai:gpt-4o-mini", "-base-url", "http://localhost", "-budget", "1"}, 2, "-budget needs -price"},
		{"half a price", key, []string{bread, "-model", "openai:gpt-4o-mini", "-price", "1"}, 2, `-price is "1"`},
		{"price without a model", nil, []string{bread, "-price", "1,2"}, 2, "a -model, which is missing"},
		{"base URL without a model", nil, []string{bread, "-base-url", "http://localhost"}, 2, "a -model, which is missing"},
		{"region without a model", nil, []string{bread, "-region", "eu-west-3"}, 2, "a -model, which is missing"},
		{"version without a model", nil, []string{bread, "-api-version", "2024-10-21"}, 2, "a -model, which is missing"},
		{"region of another provider", key, []string{bread, "-model", "openai:m", "-region", "eu-west-3"}, 2, `region is "eu-west-3", which bedrock alone has`},
		{"version of another provider", key, []string{bread, "-model", "openai:m", "-api-version", "2024-10-21"}, 2, `apiVersion is "2024-10-21", which azure alone has`},
		{"azure without a resource", key, []string{bread, "-model", "azure:m"}, 2, "baseURL is empty, want that of the resource"},
		{"bad version", key, []string{bread, "-model", "azure:m", "-base-url", "http://localhost", "-api-version", "newest"}, 2, `apiVersion is "newest", want a date`},
		{"bedrock without anything", key, []string{bread, "-model", "bedrock:m"}, 2, "-model bedrock:m needs what is empty in the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION (or -region) (film"},
		{"bedrock without a region", aws, []string{bread, "-model", "bedrock:m"}, 2, "in the environment: AWS_REGION (or -region) (film"},
		{"bedrock with one key", aws, []string{bread, "-model", "bedrock:m", "-region", "eu-west-3", "-key-env", "AWS_SECRET_ACCESS_KEY"}, 2, "it takes AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for temporary keys, AWS_SESSION_TOKEN"},
		{"bad region", aws, []string{bread, "-model", "bedrock:m", "-region", "paris"}, 2, `region is "paris", want one such as us-east-1`},
		{"bad base URL", key, []string{bread, "-model", "openai:m", "-base-url", "::"}, 2, "-model: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			got := start(t, tt.env, tt.args...)
			assert.Equal(t, tt.code, got.Code)
			assert.Contains(t, got.Err, tt.want)
			assert.Equal(t, 1, strings.Count(got.Err, "\n"), "one line: %s", got.Err)
			assert.True(t, strings.HasPrefix(got.Err, "film: "), got.Err)
			assert.Empty(t, got.Out)
		})
	}
}

func TestReadOnlyFile(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o500))
	got := start(t, nil, bread, "-db", filepath.Join(dir, "f.db"))
	assert.Equal(t, cli.Failed, got.Code)
	assert.Contains(t, got.Err, "f.db")
	assert.Equal(t, 1, strings.Count(got.Err, "\n"), got.Err)
}

func TestOutcomeFileIsCheckedNotChanged(t *testing.T) {
	dir := t.TempDir()
	fresh, old := filepath.Join(dir, "fresh.json"), filepath.Join(dir, "old.json")
	require.NoError(t, os.WriteFile(old, []byte("{}"), 0o600))
	for _, file := range []string{fresh, old} {
		got := start(t, nil, bread, "-o", file, "-db", dir)
		assert.Equal(t, cli.Failed, got.Code, "the database is a directory")
	}
	assert.NoFileExists(t, fresh)
	data, err := os.ReadFile(old)
	require.NoError(t, err)
	assert.Equal(t, "{}", string(data))
}

func TestHelp(t *testing.T) {
	got := start(t, nil, "-h")
	assert.Equal(t, 0, got.Code)
	for _, flag := range []string{"-db", "-o", "-page", "-model", "-base-url", "-api-version", "-region", "-key-env", "-price", "-budget", "-timeout", "-calls", "-pace", "-new"} {
		assert.Contains(t, got.Out, "  "+flag)
	}
}
