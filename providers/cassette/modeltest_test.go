package cassette_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers/cassette"
	"github.com/convene-go/convene/providers/internal/stubtest"
	"github.com/convene-go/convene/providers/modeltest"
)

// The suite runs on recorders first, and then on players of what was recorded.
func TestModels(t *testing.T) {
	dir := t.TempDir()
	cassetteOf := func(p modeltest.Play) string {
		return filepath.Join(dir, strings.ReplaceAll(fmt.Sprintf("%s %v.jsonl", p.Situation, p.RetryAfter), " ", "-"))
	}
	t.Run("recorder", func(t *testing.T) {
		modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
			path := filepath.Join(t.TempDir(), "c.jsonl")
			rec, err := cassette.Record(path, cassette.Options{})
			require.NoError(t, err)
			t.Cleanup(func() {
				require.NoError(t, rec.Close())
				gather(t, path, cassetteOf(p))
			})
			s := stubtest.Open(t, p)
			s.Model = rec.Model("subject", s.Model)
			return s
		})
	})
	t.Run("player", func(t *testing.T) {
		modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
			if p.Situation == modeltest.Slow || p.Situation == modeltest.Stall {
				t.Skip("a player never waits")
			}
			player, err := cassette.Play(cassetteOf(p), cassette.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, player.Check()) })
			return modeltest.Subject{Model: player.Model("subject")}
		})
	})
}

// gather adds a cassette to another.
func gather(t testing.TB, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	require.NoError(t, err)
	f, err := os.OpenFile(to, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	_, err = f.Write(data)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}
