// A service for the domain `profile`, for Go 1.25 or newer. In examples/services/go:
//
//	PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json go run .
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

type object = map[string]any

var names sync.Map

// The refresh interval is the time for which a revoked key is accepted.
var refresh = keyfunc.Override{
	RefreshInterval: 30 * time.Second, RateLimitWaitMax: 2 * time.Second,
	RefreshUnknownKID: rate.NewLimiter(rate.Every(time.Second), 1),
}
var parser = jwt.NewParser(jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithIssuer("portico"),
	jwt.WithAudience("profile-service"), jwt.WithExpirationRequired(), jwt.WithLeeway(5*time.Second))

func toProfile(account string) object {
	coded := func(code string, value int) object {
		return object{"code": code, "value": value, "label": code, "description": code}
	}
	at := "2026-01-01T00:00:00.000Z"
	name, _ := names.LoadOrStore(account, "Someone")
	return object{
		"bizId": account, "institutionBizId": account, "accountEmail": "someone@example.com", "accountPhone": "",
		"accountName": name, "accountRemark": nil, "accountPortal": coded("CONSUMER", 10010104),
		"accountStatus": coded("ACTIVE", 10010202), "createdAt": at, "updatedAt": at,
		"defaultLanguage": "en", "defaultTimezone": "UTC", "defaultCountry": "US",
	}
}

func main() {
	keys, err := keyfunc.NewDefaultOverrideCtx(context.Background(), []string{os.Getenv("PORTICO_JWKS")}, refresh)
	if err != nil {
		log.Fatal(err)
	}
	serve := func(response http.ResponseWriter, request *http.Request) {
		bearer := strings.TrimPrefix(request.Header.Get("Authorization"), "Bearer ")
		assertion, err := parser.Parse(bearer, keys.Keyfunc)
		if err != nil || assertion.Header["typ"] != "portico-call+jwt" {
			response.WriteHeader(http.StatusUnauthorized) // No envelope: a fault of the deployment, not of a user.
			return
		}
		send := func(status int, value object) {
			response.Header().Set("Content-Type", "application/json")
			response.WriteHeader(status)
			json.NewEncoder(response).Encode(value)
		}
		account, _ := assertion.Claims.GetSubject()
		var update struct{ AccountName string }
		switch request.URL.Path {
		case "/web/v1/consumer/profile/update":
			if json.NewDecoder(request.Body).Decode(&update); update.AccountName != "" {
				names.Store(account, update.AccountName)
			}
			fallthrough
		case "/web/v1/consumer/profile":
			send(http.StatusOK, toProfile(account))
		default:
			send(http.StatusNotFound, object{"success": false, "code": "RESOURCE.NOT_FOUND", "message": "", "data": nil})
		}
	}
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(serve)))
}
