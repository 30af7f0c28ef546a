/** `begins` is the beginning of the script. */
export type Documented = { file: string; begins: string } & (
  | { prints: RegExp; adds?: (gateway: { url: string; operationsUrl: string }) => string }
  | { notRun: string }
)

/** A test runs each block, or the entry explains why not. */
export const documented: Documented[] = [
  {
    file: 'README.md',
    begins: 'npm ci && npm start',
    notRun:
      'npm ci would replace the packages that this test runs on; .ci/run runs it, and process.ts starts the gateway',
  },
  { file: 'README.md', begins: 'npm run tour', prints: /The tour is complete/ },
  {
    file: 'docs/quickstart.md',
    begins: 'npm ci',
    notRun: 'as in README.md',
  },
  {
    file: 'docs/quickstart.md',
    begins: 'curl -s http://127.0.0.1:9090/health/ready',
    prints: /^\{"status":"ready","checks":\{"store":"ok","files":"ok","ledger":"ok"\}\}$/,
  },
  { file: 'docs/guides/archive.md', begins: '   sha256sum', notRun: 'a store has no partition that is old enough' },
  { file: 'docs/scale.md', begins: 'npm run -s capacity', prints: /^\| accounts \| 1,000,000 \|$/m },
  { file: 'docs/quickstart.md', begins: 'portico() {', prints: /"walletName":"Main USD"/ },
  {
    file: 'docs/quickstart.md',
    begins: 'npx node examples/client/transfer.mjs',
    adds: ({ url, operationsUrl }) => ` ${url} ${operationsUrl}`,
    prints: /^TRF-\S+: Completed\nWALLET\.INSUFFICIENT_FUNDS: insufficient funds$/m,
  },
  {
    file: 'docs/appendix/long-run.md',
    begins: 'PORTICO_LONG_SEED=2026',
    notRun: 'test/faults/long.test.ts runs the short form',
  },
  {
    file: 'docs/guides/another-portal.md',
    begins: 'curl http://127.0.0.1:8080/web/v1/merchant',
    notRun: 'it needs the portal of the guide: test/e2e/another-portal-guide.test.ts runs it',
  },
  {
    file: 'docs/guides/another-portal.md',
    begins: 'npx portico conformance --portal-code',
    notRun: 'it needs the portal of the guide: test/e2e/another-portal-guide.test.ts runs it',
  },
  {
    file: 'docs/guides/lists.md',
    begins: 'npx node examples/client/list.mjs',
    adds: ({ url, operationsUrl }) => ` ${url} ${operationsUrl}`,
    prints: /^\d+ transfers$/m,
  },
  {
    file: 'docs/guides/api-callers.md',
    begins: 'openssl genpkey',
    prints: /^\{"kty":"OKP","crv":"Ed25519","x":"[\w-]{43}"\}$/m,
  },
  { file: 'docs/guides/api-callers.md', begins: 'b64() {', prints: /^eyJ[\w-]+\.eyJ[\w-]+\.[\w-]{86}$/ },
  {
    file: 'docs/guides/api-callers.md',
    begins: 'npx node examples/client/signed-requests.mjs',
    adds: ({ url, operationsUrl }) => ` ${url} ${operationsUrl}`,
    prints: /^Signer \d+: secret null\n(.*\n)*Main USD$/m,
  },
  { file: 'docs/quickstart.md', begins: 'curl -s http://127.0.0.1:9090/explain/', prints: /^\[\]$/ },
  {
    file: 'docs/guides/service-behind-portico.md',
    begins: 'PORT=8081',
    notRun: 'a service that runs until it is stopped: test/e2e/example-service.test.ts runs it behind a gateway',
  },
  {
    file: 'docs/guides/openapi-document.md',
    begins: 'npx portico openapi --format postman > /tmp/portico.postman.json',
    prints: /^$/,
  },
  {
    file: 'docs/guides/methods-of-your-domains.md',
    begins: 'npx portico client --out /tmp/own.ts',
    prints: /^wrote \/tmp\/own\.ts with 2 operations of cards$/m,
  },
  {
    file: 'docs/guides/service-behind-portico.md',
    begins: 'npx portico openapi --domain profile',
    prints: /"callAssertion": \{.*profile-service/s,
  },
  {
    file: 'docs/guides/service-behind-portico.md',
    begins: 'PORTICO_CONFIG=profile.yaml npx portico conformance',
    notRun: 'it needs a running service: test/e2e/example-service.test.ts runs it with each example',
  },
  {
    file: 'docs/reference/secure-channel.md',
    begins: 'node examples/secure-channel/client.mjs',
    adds: ({ url }) => ` ${url}`,
    prints: /EMAIL offered.*replay {4}SECURE_CHANNEL\.INVALID_PAYLOAD.*closed {4}SECURE_CHANNEL\.INVALID_PAYLOAD/s,
  },
  {
    file: 'docs/guides/scim.md',
    begins: 'scim() {',
    notRun: 'it needs an identity provider and a key: test/e2e/scim-guide.test.ts runs it',
  },
  {
    file: 'docs/guides/keycloak.md',
    begins: 'openssl req -x509',
    notRun: 'test/keycloak runs it, and signs in with the key that it makes',
  },
  { file: 'docs/guides/export-the-audit-log.md', begins: 'echo "whsec_', prints: /^whsec_[A-Za-z0-9+/]{43}=$/m },
  ...['   pg_dump', 'portico audit verify', '   pg_restore', '   portico migrate'].map((begins) => ({
    file: 'docs/guides/backup-and-restore.md',
    begins,
    notRun: 'it needs a PostgreSQL server: test/docs/restore.test.ts runs every block of the page',
  })),
  ...(
    [
      ['generate-a-client', ['npm install', 'npx --yes --package', 'echo']],
      ['generate-a-client-python', ['python3 -m venv']],
      ['generate-a-client-java-go', ['mvn -q']],
      ['generate-a-client-kotlin', ['mvn -q']],
    ] as const
  ).flatMap(([page, begins]) =>
    begins.map((each) => ({
      file: `docs/guides/${page}.md`,
      begins: each,
      notRun: 'test/generators runs every block of the page in an empty folder',
    })),
  ),
  {
    file: 'docs/guides/deploy.md',
    begins: 'docker build',
    notRun: 'there is no container engine here: scripts/test-image.sh builds the image with buildah and runs it',
  },
  {
    file: 'docs/guides/redis.md',
    begins: 'redis-cli ACL SETUSER',
    notRun: 'it needs a Redis server: test/platform/redis/documented-rights.test.ts runs it with one',
  },
  {
    file: 'docs/guides/extension.md',
    begins: 'PORTICO_CONFIG=examples/loans/portico.yaml npm start',
    notRun: 'a gateway that runs until it is stopped: test/e2e/extensions.test.ts starts one with this extension',
  },
  {
    file: 'docs/guides/extension.md',
    begins: 'PORTICO_CONFIG=examples/loans/portico.yaml npx portico config check',
    prints: /^extensions:\n\s+- \.\/examples\/loans\/index\.ts$/m,
  },
  ...['npm pkg set', 'npm pack', 'npm install --ignore-scripts portico'].map((begins) => ({
    file: 'docs/guides/publish-a-domain.md',
    begins,
    notRun: 'test/package/publish.test.ts runs every block of the page in the folder of a domain',
  })),
  ...['export PORTICO_CONFIG=portico.yaml', 'npx portico serve'].map((begins) => ({
    file: 'docs/guides/without-a-bank.md',
    begins,
    notRun: 'test/docs/without-a-bank.test.ts runs every block of the page in an empty folder',
  })),
  ...['curl http://127.0.0.1:8080/web/v1/merchant', 'npx portico conformance'].map((begins) => ({
    file: 'docs/guides/another-portal.md',
    begins,
    notRun: 'test/e2e/another-portal-guide.test.ts runs both at a gateway with the portal',
  })),
  ...['npm init -y', 'npx tsc', 'node --watch main.ts'].map((begins) => ({
    file: 'docs/guides/your-own-domain.md',
    begins,
    notRun: 'test/package/guide.test.ts runs every block of the page in an empty folder',
  })),
  ...[
    'apt-get update',
    'useradd',
    '(umask 077',
    'redis-cli CONFIG SET',
    'umask 077\n',
    'digest()',
    'cd /opt/portico\nenv $(cat /etc/portico/portico.env) npx portico config check',
    'systemctl enable',
    'nginx -t',
    'cd /opt/portico\nenv $(cat /etc/portico/portico.env) npx portico operator create',
    'node /opt/portico/sign-in.mjs',
  ].map((begins) => ({
    file: 'docs/guides/production.md',
    begins,
    notRun: 'test/package/production.test.ts runs the page with its servers',
  })),
  {
    file: 'docs/guides/extend-the-image.md',
    begins: 'docker build',
    notRun: 'no container engine: test/package/container.test.ts runs the files of the image, test-image.sh the image',
  },
  { file: 'docs/guides/rotate-keys.md', begins: 'printf %s', prints: /^[0-9a-f]{64} / },
  {
    file: 'docs/reference/configuration.md',
    begins: 'npx portico config check',
    prints: /^profile: development$/m,
  },
  {
    file: 'docs/guides/monitor.md',
    begins: 'curl -s http://127.0.0.1:9090/metrics',
    prints: /^portico_request_duration_seconds_/m,
  },
  {
    file: 'docs/guides/monitor.md',
    begins: 'OTEL_EXPORTER_OTLP_ENDPOINT=',
    notRun: 'the server does not end; test/faults/trace-export.test.ts starts it with these variables',
  },
  { file: 'docs/guides/monitor.md', begins: 'curl -s http://127.0.0.1:9090/explain/', prints: /^\[\]$/ },
  {
    file: 'docs/guides/load-test.md',
    begins: 'npx portico load --duration 10',
    // A busy machine may not reach the rate.
    adds: ({ url, operationsUrl }) => ` --url ${url} --operations-url ${operationsUrl} --min-rate-ratio 0`,
    prints: /^ok {6}balances add up: 3 wallets, \d+ flows$/m,
  },
]
