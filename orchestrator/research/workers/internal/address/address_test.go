package address

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The networks are those of IANA's registries of special addresses.
func TestIsPublic(t *testing.T) {
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "100.127.255.255", "127.0.0.1",
		"127.255.255.254", "168.63.129.16", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1",
		"192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.0.1", "192.168.255.255", "198.18.0.1", "198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808",
		"100::1", "2001::1", "2001:10::1", "2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2002:808:808::1", "3fff::1",
		"5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "2606:4700::1111%eth0", "fec0::1", "ff02::1", "ff0e::1",
	} {
		assert.False(t, isPublic(netip.MustParseAddr(text)), text)
	}
	for _, text := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.167.255.255",
		"192.169.0.0", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "64:ff9b::808:808",
	} {
		assert.True(t, isPublic(netip.MustParseAddr(text)), text)
	}
	assert.False(t, isPublic(netip.Addr{}), "none")
}

func TestRulesParse(t *testing.T) {
	for _, text := range []string{
		"http://example.com", "https://example.com/a?b=c#d", "http://example.com:80/", "http://example.com:443", "https://8.8.8.8/",
		"https://[2606:4700::1111]/", "HTTP://EXAMPLE.com/", "http://example.com:8080/", "http://10.1.2.3/",
		"https://example.com/" + strings.Repeat("a", MaxURL-20),
	} {
		a := Rules{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Ports: []uint16{8080}}
		_, err := a.Parse(text)
		assert.NoError(t, err, text)
	}
	tests := []struct{ text, want string }{
		{"", "scheme"},
		{"example.com", "scheme"},
		{"//example.com", "scheme"},
		{"file:///etc/passwd", "scheme"},
		{"ftp://example.com", "scheme"},
		{"gopher://example.com", "scheme"},
		{"javascript:alert(1)", "scheme"},
		{"http:", "no host"},
		{"http:///path", "no host"},
		{"http:example.com", "no host"},
		{"http://:80/", "no host"},
		{"http://user@example.com", "user"},
		{"http://user:word@example.com", "user"},
		{"http://@example.com", "user"},
		{"http://example.com:22", "port is 22"},
		{"http://example.com:0", "port is 0"},
		{"http://example.com:", "port"},
		{"http://example.com:99999", "port"},
		{"http://127.0.0.1", "127.0.0.1 is not public"},
		{"http://169.254.169.254/latest/meta-data/", "not public"},
		{"http://10.2.0.1", "not public"},
		{"http://[::1]/", "not public"},
		{"http://[::]/", "not public"},
		{"http://[::ffff:8.8.8.8]/", "not public"},
		{"http://[::ffff:10.1.2.3]/", "not public"},
		{"http://[fe80::1%25eth0]/", "not public"},
		{"http://exa mple.com", "no URL"},
		{"http://example.com/\x7f", "no URL"},
		{"http://[::1", "no URL"},
		{"https://example.com/" + strings.Repeat("a", MaxURL), "4116 bytes, want at most 4096"},
	}
	a := Rules{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for _, tt := range tests {
		_, err := a.Parse(tt.text)
		if assert.ErrorIs(t, err, Err, tt.text) {
			assert.ErrorContains(t, err, tt.want, tt.text)
		}
	}
}

func TestRulesControl(t *testing.T) {
	a := Rules{AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, Ports: []uint16{8080}}
	tests := []struct {
		network, address string
		ok               bool
	}{
		{"tcp4", "8.8.8.8:443", true},
		{"tcp6", "[2606:4700::1111]:80", true},
		{"tcp4", "127.0.0.1:8080", true},
		{"tcp4", "127.0.0.1:8081", false},
		{"tcp4", "127.0.0.2:8080", false},
		{"tcp6", "[::1]:80", false},
		{"tcp6", "[::ffff:8.8.8.8]:80", false},
		{"tcp6", "[fe80::1%lo]:80", false},
		{"tcp4", "8.8.8.8:25", false},
		{"udp4", "8.8.8.8:443", false},
		{"unix", "/run/socket", false},
	}
	for _, tt := range tests {
		err := a.Control(tt.network, tt.address, nil)
		if tt.ok {
			assert.NoError(t, err, tt.address)
		} else {
			assert.ErrorIs(t, err, Err, tt.address)
		}
	}
}

// What is let through has one of two schemes, a host and an allowed port, and is no
// private address.
func FuzzRules(f *testing.F) {
	for _, text := range []string{"http://example.com", "https://[::1]:80/a", "http://user@1.2.3.4:443", "http://2130706433/", "file:///x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := Rules{}.Parse(text)
		if err != nil {
			require.ErrorIs(t, err, Err)
			return
		}
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		require.NotEmpty(t, u.Hostname())
		require.Nil(t, u.User)
		require.Contains(t, []string{"", "80", "443"}, u.Port())
		if addr, err := netip.ParseAddr(u.Hostname()); err == nil {
			require.True(t, isPublic(addr), text)
		}
		again, err := url.Parse(u.String())
		require.NoError(t, err)
		require.NoError(t, Rules{}.CheckURL(again))
	})
}
