package runlog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
)

func TestCheckID(t *testing.T) {
	for _, id := range []string{"a", "A-z_0.9", ".hidden", strings.Repeat("x", 128)} {
		require.NoError(t, runlog.CheckID(id))
	}
	for _, id := range []string{"", ".", "..", "...", "a/0", "../x", "a b", "a\x00", "a\n", "ü", "\xff", strings.Repeat("x", 129)} {
		err := runlog.CheckID(id)
		require.ErrorContains(t, err, "want up to 128 letters, digits")
		assert.Less(t, len(err.Error()), 800, "it shows no more than a part")
	}
}

func TestIsNever(t *testing.T) {
	for err, never := range map[error]bool{
		runlog.ErrTooLarge: true, runlog.ErrRefused: true,
		runlog.ErrConflict: false, runlog.ErrDamaged: false, runlog.ErrNoRun: false, runlog.ErrNoBlob: false, errors.New("disk full"): false,
	} {
		assert.Equal(t, never, runlog.IsNever(err), err)
		assert.Equal(t, never, runlog.IsNever(fmt.Errorf("the store: %w", err)), err)
	}
	assert.False(t, runlog.IsNever(nil))
}

// TestListingRefusesForGood has Data of which no list can be made.
func TestListingRefusesForGood(t *testing.T) {
	for _, kind := range []string{runlog.Started, runlog.Resumed, runlog.Stuck, runlog.Ended} {
		l := runlog.Listing{Run: "r", Next: 1}
		rec := entry("r", 1)
		rec.Kind, rec.Data = kind, []byte(`{"owner":7,"status":7}`)
		require.ErrorIs(t, l.Add(rec), runlog.ErrRefused)
		assert.Equal(t, runlog.Listing{Run: "r", Next: 1}, l, "it stays as it was")
	}
}

// mute is a store whose letters or list cannot be read.
type mute struct {
	*runlog.Memory
	list bool
}

func (m mute) Letters(context.Context, string) iter.Seq2[runlog.Letter, error] {
	return func(yield func(runlog.Letter, error) bool) { yield(runlog.Letter{}, errDisk) }
}

func (m mute) List(ctx context.Context, q runlog.Query) iter.Seq2[runlog.Listing, error] {
	if m.list {
		return func(yield func(runlog.Listing, error) bool) { yield(runlog.Listing{}, errDisk) }
	}
	return m.Memory.List(ctx, q)
}

func TestExportNeedsLettersAndChildren(t *testing.T) {
	for _, list := range []bool{false, true} {
		err := runlog.Export(t.Context(), mute{familyOf(t), list}, "r", io.Discard)
		require.ErrorIs(t, err, errDisk)
	}
}

// TestImportOfLettersThatFail has a store that takes the runs, and not their letters.
func TestImportOfLettersThatFail(t *testing.T) {
	var out strings.Builder
	require.NoError(t, runlog.Export(t.Context(), familyOf(t), "r", &out))
	to := full{runlog.NewMemory()}
	_, err := runlog.Import(t.Context(), to, strings.NewReader(out.String()))
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, `delete "r" and import it again`)
}

type full struct{ *runlog.Memory }

func (full) Put(context.Context, runlog.Letter) error { return errDisk }
