package fake_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/internal/network"
)

// named is a test with a name.
type named struct{ *recorder }

func (named) Name() string { return "TestThat" }

func TestBlockNetwork(t *testing.T) {
	r := &recorder{}
	fake.BlockNetwork(named{r}, "127.0.0.1")
	require.NoError(t, network.Check("127.0.0.1:80"))
	assert.Empty(t, r.failures)

	err := network.Check("api.example.com")
	require.ErrorIs(t, err, network.ErrBlocked)
	require.ErrorContains(t, err, "by TestThat: a model was called at api.example.com, in fake_test.TestBlockNetwork (block_test.go:")
	require.Len(t, r.failures, 1)
	assert.Contains(t, r.failures[0], "the network is blocked, and a model was called at api.example.com, in fake_test.TestBlockNetwork")

	r.end()
	require.NoError(t, network.Check("api.example.com"))
	assert.Len(t, r.failures, 1)
}

// ender is a test during whose failure another one ends.
type ender struct {
	*recorder
	other *recorder
}

func (e ender) Errorf(format string, args ...any) {
	e.other.end()
	e.recorder.Errorf(format, args...)
}

func TestBlockNetworkOfATestThatIsOver(t *testing.T) {
	first, second := &recorder{}, &recorder{}
	fake.BlockNetwork(ender{first, second}, "127.0.0.1")
	fake.BlockNetwork(second, "127.0.0.1")
	require.ErrorIs(t, network.Check("api.example.com"), network.ErrBlocked)
	assert.Len(t, first.failures, 1)
	assert.Empty(t, second.failures, "it is over")
	first.end()
}

// This block never ends: it makes an exception of the hosts of the other test.
func TestBlockNetworkForEver(t *testing.T) {
	fake.BlockNetwork(nil, "api.example.com", "127.0.0.1")
	require.NoError(t, network.Check("api.example.com"))
	require.ErrorContains(t, network.Check("for.ever.example.com"), "by TestMain")
}
