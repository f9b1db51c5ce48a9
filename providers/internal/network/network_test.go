package network_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers/internal/network"
)

func TestCheck(t *testing.T) {
	require.NoError(t, network.Check("api.example.com:443"), "nothing is blocked")
	var tried []string
	first := &network.Block{Owner: "TestFirst", Except: []string{"127.0.0.1", "stub:8080"}, Tried: func(call string) { tried = append(tried, call) }}
	end := first.Start()
	tests := []struct {
		host    string
		blocked bool
	}{
		{host: "api.example.com:443", blocked: true},
		{host: "api.example.com", blocked: true},
		{host: "127.0.0.1:4711"},
		{host: "127.0.0.1"},
		{host: "stub:8080"},
		{host: "STUB:8080"},
		{host: "stub:9090", blocked: true},
		{host: "127.0.0.11:1", blocked: true},
		{host: "[::1]:80", blocked: true},
		{host: "", blocked: true},
	}
	for _, tt := range tests {
		t.Run(tt.host, func(t *testing.T) {
			tried = nil
			err := network.Check(tt.host)
			if !tt.blocked {
				require.NoError(t, err)
				assert.Empty(t, tried)
				return
			}
			require.ErrorIs(t, err, network.ErrBlocked)
			assert.Contains(t, err.Error(), "blocked by TestFirst: a model was called at "+tt.host)
			assert.Contains(t, err.Error(), "network_test.TestCheck.")
			assert.Contains(t, err.Error(), "(network_test.go:")
			assert.Len(t, tried, 1)
		})
	}

	second := &network.Block{Owner: "TestSecond"}
	endSecond := second.Start()
	err := network.Check("127.0.0.1:1")
	require.ErrorContains(t, err, "by TestSecond:", "an exception of one is none of another")
	require.ErrorContains(t, network.Check("b"), "by TestFirst, TestSecond:")
	end()
	end() // once more is no fault
	require.ErrorContains(t, network.Check("b"), "by TestSecond:")
	endSecond()
	require.NoError(t, network.Check("b"))
}

func TestCheckInAGoroutine(t *testing.T) {
	tried := make(chan string, 1)
	end := (&network.Block{Tried: func(call string) { tried <- call }}).Start()
	defer end()
	go network.Check("h") //nolint:errcheck // Tried is told
	assert.Equal(t, "a model was called at h, in a goroutine of its own", <-tried)
}
