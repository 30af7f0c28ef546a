/** How the tests treat a block of commands in the documentation. `begins` is the beginning of its script. */
export type Documented = { file: string; begins: string } & (
  | { prints: RegExp; adds?: (gateway: { url: string; operationsUrl: string }) => string }
  | { notRun: string }
)

/** Every block of commands. A test runs it against a gateway, or the entry gives the reason why it does not run. */
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
    prints: /^\{"status":"ready","checks":\{"store":"ok","ledger":"ok"\}\}$/,
  },
  { file: 'docs/quickstart.md', begins: 'portico() {', prints: /"walletName":"Main USD"/ },
  {
    file: 'docs/quickstart.md',
    begins: 'npx node examples/client/transfer.mjs',
    adds: ({ url, operationsUrl }) => ` ${url} ${operationsUrl}`,
    prints: /^TRF-\S+: Completed\nWALLET\.INSUFFICIENT_FUNDS: insufficient funds$/m,
  },
  { file: 'docs/quickstart.md', begins: 'curl -s http://127.0.0.1:9090/explain/', prints: /^\[\]$/ },
  {
    file: 'docs/guides/service-behind-portico.md',
    begins: 'PORT=8081',
    notRun: 'a service that runs until it is stopped: test/e2e/example-service.test.ts runs it behind a gateway',
  },
  {
    file: 'docs/reference/secure-channel.md',
    begins: 'node examples/secure-channel/client.mjs',
    adds: ({ url }) => ` ${url}`,
    prints: /EMAIL offered.*replay {4}SECURE_CHANNEL\.INVALID_PAYLOAD.*closed {4}SECURE_CHANNEL\.INVALID_PAYLOAD/s,
  },
  {
    file: 'docs/guides/deploy.md',
    begins: 'docker build',
    notRun: 'there is no container engine here: scripts/test-image.sh builds the image with buildah and runs it',
  },
  {
    file: 'docs/guides/redis.md',
    begins: 'redis-cli ACL SETUSER',
    notRun:
      'it needs a Redis server: the end-to-end tests with replicas run with these permissions (harness/rights.ts)',
  },
  {
    file: 'docs/guides/extension.md',
    begins: 'PORTICO_CONFIG=examples/loans/portico.yaml npm start',
    notRun: 'a gateway that runs until it is stopped: test/e2e/extensions.test.ts starts one with this extension',
  },
  {
    file: 'docs/guides/extension.md',
    begins: 'PORTICO_CONFIG=examples/loans/portico.yaml npx portico config check',
    prints: /^extensions:\n\s+- examples\/loans\/index\.ts$/m,
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
  { file: 'docs/guides/monitor.md', begins: 'curl -s http://127.0.0.1:9090/explain/', prints: /^\[\]$/ },
]
