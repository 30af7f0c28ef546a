// A service for the domain `profile`, with the standard library only.
//
//	PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json go run ./examples/services/go/main.go
package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const leeway = 5 * time.Second

type header struct{ Alg, Typ, Kid string }

type claims struct {
	Iss, Aud, Sub string
	Exp, Nbf      int64
}

// keySet caches the gateway's public keys and fetches them again for an unknown key id.
type keySet struct {
	mutex     sync.Mutex
	keys      map[string]ed25519.PublicKey
	fetchedAt time.Time
}

func (set *keySet) find(kid string) (ed25519.PublicKey, error) {
	set.mutex.Lock()
	defer set.mutex.Unlock()
	if key, known := set.keys[kid]; known {
		return key, nil
	}
	if time.Since(set.fetchedAt) < 5*time.Second {
		return nil, errors.New("unknown key " + kid)
	}
	response, err := http.Get(os.Getenv("PORTICO_JWKS"))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var document struct {
		Keys []struct{ Kid, Crv, X string }
	}
	if err := json.NewDecoder(response.Body).Decode(&document); err != nil {
		return nil, err
	}
	set.keys, set.fetchedAt = map[string]ed25519.PublicKey{}, time.Now()
	for _, each := range document.Keys {
		if bytes, err := base64.RawURLEncoding.DecodeString(each.X); err == nil && each.Crv == "Ed25519" && len(bytes) == 32 {
			set.keys[each.Kid] = bytes
		}
	}
	if key, known := set.keys[kid]; known {
		return key, nil
	}
	return nil, errors.New("unknown key " + kid)
}

func decode(part string, into any) error {
	bytes, err := base64.RawURLEncoding.Strict().DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(bytes, into)
}

// verify returns the claims of a call assertion, or an error if it is not valid.
func verify(set *keySet, token string, now time.Time) (found claims, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return found, errors.New("no call assertion")
	}
	var head header
	if err = decode(parts[0], &head); err != nil {
		return found, err
	}
	if head.Alg != "EdDSA" || head.Typ != "portico-call+jwt" {
		return found, errors.New("wrong algorithm or type")
	}
	key, err := set.find(head.Kid)
	if err != nil {
		return found, err
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(parts[2])
	if err != nil || !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return found, errors.New("wrong signature")
	}
	if err = decode(parts[1], &found); err != nil {
		return found, err
	}
	expired := now.Add(-leeway).Unix() >= found.Exp || now.Add(leeway).Unix() < found.Nbf
	if expired || found.Iss != "portico" || found.Aud != "profile-service" {
		return found, errors.New("expired, or for another service")
	}
	return found, nil
}

type object map[string]any

func coded(code string, value int) object {
	return object{"code": code, "value": value, "label": code, "description": code}
}

func toProfile(account, name string) object {
	at := "2026-01-01T00:00:00.000Z"
	return object{
		"bizId": account, "institutionBizId": account, "accountEmail": "someone@example.com", "accountPhone": "",
		"accountName": name, "accountRemark": nil, "accountPortal": coded("CONSUMER", 10010104),
		"accountStatus": coded("ACTIVE", 10010202), "createdAt": at, "updatedAt": at,
		"defaultLanguage": "en", "defaultTimezone": "UTC", "defaultCountry": "US",
	}
}

func send(response http.ResponseWriter, status int, value object) {
	// Go calls JSON text/plain if the handler sets no type.
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	json.NewEncoder(response).Encode(value)
}

func main() {
	set, names := &keySet{}, sync.Map{}
	nameOf := func(account string) string {
		if name, known := names.Load(account); known {
			return name.(string)
		}
		return "Someone"
	}
	handle := func(response http.ResponseWriter, request *http.Request) {
		caller, err := verify(set, strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer "), time.Now())
		if err != nil {
			// No envelope: an invalid assertion is a fault of the deployment, not of a user.
			log.Print(err)
			response.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch request.URL.Path {
		case "/web/v1/consumer/profile/update":
			var body struct{ AccountName string }
			if json.NewDecoder(request.Body).Decode(&body) != nil {
				response.WriteHeader(http.StatusInternalServerError)
				return
			}
			names.Store(caller.Sub, body.AccountName)
			fallthrough
		case "/web/v1/consumer/profile":
			send(response, http.StatusOK, toProfile(caller.Sub, nameOf(caller.Sub)))
		default:
			send(response, http.StatusNotFound, object{"success": false, "code": "RESOURCE.NOT_FOUND", "message": "", "data": nil})
		}
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8081"
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, http.HandlerFunc(handle)))
}
