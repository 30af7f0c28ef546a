module portico.example/profile

go 1.25.0

require (
	github.com/MicahParks/keyfunc/v3 v3.9.1
	github.com/golang-jwt/jwt/v5 v5.3.1
	golang.org/x/time v0.15.0
)

require github.com/MicahParks/jwkset v0.11.4 // indirect
