/**
 * HAProxy with the checks that it can make: ES256 token, access code, request headers, a limit per address and one per
 * account, security headers and a log line. */
export function haproxyConfiguration(port: number, upstream: string, publicKey: string, threads: number): string {
  return `
global
  nbthread ${threads}
  log stdout len 4096 format raw local0 info

defaults
  mode http
  log global
  timeout connect 5s
  timeout client 60s
  timeout server 10s
  log-format '{"time":"%T","client":"%ci","method":"%HM","path":"%HP","status":%ST,"bytes":%B,"ms":%Ta,"request":"%[var(txn.request)]","account":"%[var(txn.account)]","session":"%[var(txn.session)]"}'

backend addresses
  stick-table type ip size 100k expire 60s store http_req_rate(60s)
backend accounts
  stick-table type string len 36 size 100k expire 60s store http_req_rate(60s)

frontend portal
  bind 127.0.0.1:${port}
  http-request track-sc0 src table addresses
  http-request deny deny_status 429 if { sc_http_req_rate(0,addresses) gt 1000000000 }
  http-request deny deny_status 403 unless { req.hdr(x-portal-access-code) -m str consumer-dev }
  http-request deny deny_status 400 unless { req.hdr(x-request-id) -m found } { req.hdr(x-client-hash) -m found } { req.hdr(x-forwarded-proto) -m str https } { req.hdr(cf-connecting-ip) -m found } { req.hdr(x-workspace-id) -m found }
  http-request set-var(txn.request) req.hdr(x-request-id)
  http-request set-var(txn.token) http_auth_bearer
  http-request set-var(txn.algorithm) var(txn.token),jwt_header_query('$.alg')
  http-request deny deny_status 401 unless { var(txn.algorithm) -m str ES256 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_verify(txn.algorithm,"${publicKey}") 1 }
  http-request deny deny_status 401 unless { var(txn.token),jwt_payload_query('$.iss') -m str peer } { var(txn.token),jwt_payload_query('$.aud') -m str peer }
  http-request set-var(txn.expires) var(txn.token),jwt_payload_query('$.exp','int')
  http-request set-var(txn.now) date()
  http-request deny deny_status 401 if { var(txn.expires),sub(txn.now) -m int lt 0 }
  http-request set-var(txn.account) var(txn.token),jwt_payload_query('$.sub')
  http-request set-var(txn.session) var(txn.token),jwt_payload_query('$.sid')
  http-request track-sc1 var(txn.account) table accounts
  http-request deny deny_status 429 if { sc_http_req_rate(1,accounts) gt 1000000000 }
  http-request del-header authorization
  http-request del-header x-portal-access-code
  http-request set-header x-account-id %[var(txn.account)]
  http-request set-header x-session-id %[var(txn.session)]
  http-response set-header x-request-id %[var(txn.request)]
  http-response set-header strict-transport-security 'max-age=31536000; includeSubDomains'
  http-response set-header content-security-policy "default-src 'none'; frame-ancestors 'none'"
  http-response set-header x-content-type-options nosniff
  http-response set-header referrer-policy no-referrer
  http-response set-header cache-control no-store
  default_backend service

backend service
  http-reuse always
  server upstream ${new URL(upstream).host} maxconn 64
`
}
