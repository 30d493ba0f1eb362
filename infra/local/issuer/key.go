package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	keyBits = 2048
	keyFile = "issuer-key.pem"
	pemType = "PRIVATE KEY"
)

// signingKey loads the key of dir, or creates it.
func signingKey(dir string) (*rsa.PrivateKey, error) {
	if dir == "" {
		return rsa.GenerateKey(rand.Reader, keyBits)
	}
	path := filepath.Join(dir, keyFile)
	key, err := loadKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if key, err = rsa.GenerateKey(rand.Reader, keyBits); err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	if err := storeKey(dir, path, key); err != nil {
		return nil, fmt.Errorf("store key: %w", err)
	}
	// Another process may have stored its key first, so use the file's.
	return loadKey(path)
}

func loadKey(path string) (*rsa.PrivateKey, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := decodeKey(text)
	if err != nil {
		return nil, fmt.Errorf("read %s (delete it to make a new one): %w", path, err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, err
	}
	return key, nil
}

func decodeKey(text []byte) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("decode key: not a PEM block of type %s", pemType)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decode key: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok || key.N.BitLen() < keyBits {
		return nil, fmt.Errorf("decode key: not an RSA key of at least %d bits", keyBits)
	}
	return key, nil
}

// storeKey writes a temporary file and links it into place, which never exposes a
// partial key nor replaces one that another process has just stored.
func storeKey(dir, path string, key *rsa.PrivateKey) error {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, keyFile+".*") // CreateTemp makes it 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
