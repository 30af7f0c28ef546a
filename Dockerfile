# The gateway and `portico serve --role domains` in one image. docs/guides/deploy.md describes how to run it.
# scripts/test-image.sh builds and runs it without a container engine.
ARG BASE=docker.io/library/node:26.10.0-bookworm-slim@sha256:662933cf47f013bc8e4beb31a6116448427a82057ba7c42c97e4c5ba766504c2

# The server's dependencies, exactly as locked. Install scripts do not run. They include the SDK of OpenTelemetry, which is
# loaded only if OTEL_EXPORTER_OTLP_ENDPOINT is set.
FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 # Remove peer dependencies that are needed for types only.
 && rm -rf node_modules/typescript node_modules/@typescript

# Bundles the server with the development dependencies.
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY bin ./bin
COPY tsconfig.json tsconfig.client.json LICENSE ./
COPY scripts ./scripts
COPY src ./src
COPY apps ./apps
RUN node scripts/build.ts release && node scripts/apps.ts

# The base image without build tools: it has Node and no package manager.
FROM ${BASE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /usr/local/include/node /opt/yarn* /root/.npm \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
 && mkdir --mode=0700 /data && chown 10001:10001 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY assets ./assets
COPY config ./config
COPY bin ./bin
COPY docs/examples.json ./docs/examples.json
COPY --from=build /app/build ./build
COPY --from=build /app/dist/apps ./dist/apps
# Compile the build once: the server starts faster and uses less memory. Import all parts, because cli.js alone would not
# load every store and upstream. Node looks for the cache under the user id that runs it. It belongs to root, so that the
# server cannot change it.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN node --input-type=module -e "import { globSync } from 'node:fs'; \
      for (const part of globSync('/app/build/release/*.js')) if (!part.endsWith('/cli.js')) await import(part)" \
 && node bin/portico.js --help >/dev/null \
 && for made in .compiled/*-0; do mv "$made" "${made%-0}-10001"; done && chmod -R a+rX .compiled

# Numeric, so that Kubernetes can verify that it is not root.
USER 10001:10001
ENV NODE_ENV=production PORTICO_PROFILE=production HOST=0.0.0.0 PORT=8080 OPS_PORT=9090 PORTICO_DATA_DIR=/data
# The only writable folder: the embedded store and uploaded files. Unused with PostgreSQL and S3.
VOLUME /data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT}/health/ready`).then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "bin/portico.js"]
# One process without PostgreSQL and Redis, and with less than 1 GB of memory.
CMD ["serve", "--workers", "auto"]
