package team_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/team"
)

func TestIf(t *testing.T) {
	var f team.Faults
	f.If(false, "Name is empty")
	require.NoError(t, f.Err())
	f.If(true, "Tone is %q, want one of %q", "x", []string{"y"})
	f.If(true, "Topic is missing")
	require.EqualError(t, f.Err(), "Tone is \"x\", want one of [\"y\"]\nTopic is missing")
}
