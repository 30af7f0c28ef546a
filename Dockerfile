# The gateway, and `portico serve --role domains`, as one image: Node, a build of the sources, and what it needs at run
# time. docs/guides/deploy.md describes how to run it; scripts/test-image.sh builds and runs it without an engine.
ARG BASE=docker.io/library/node:26.10.0-bookworm-slim

# What the server imports, exactly as locked; no package's script runs.
FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 # Peers that some packages name for their types alone.
 && rm -rf node_modules/typescript node_modules/@typescript

# The server in a few files, by the tools that the project is developed with.
FROM ${BASE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY bin ./bin
COPY scripts/build.ts ./scripts/build.ts
COPY src ./src
RUN node scripts/build.ts release

# The base without what only builds: the result has Node and no package manager.
FROM ${BASE} AS runtime
RUN rm -rf /usr/local/lib/node_modules /usr/local/include/node /opt/yarn* /root/.npm \
      /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn /usr/local/bin/yarnpkg \
 && mkdir --mode=0700 /data && chown 10001:10001 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json ./
COPY config ./config
COPY bin ./bin
COPY docs/examples.json ./docs/examples.json
COPY --from=build /app/build ./build
# What Node makes of the build when it loads it, made once: it starts sooner and takes less memory. All that a start may
# load counts, whatever store and upstreams it has; cli.js alone would run. Node looks for it under the number of whoever
# runs it, and it is made by root, so that it cannot be changed.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN node --input-type=module -e "import { globSync } from 'node:fs'; \
      for (const part of globSync('/app/build/release/*.js')) if (!part.endsWith('/cli.js')) await import(part)" \
 && node bin/portico.js --help >/dev/null \
 && for made in .compiled/*-0; do mv "$made" "${made%-0}-10001"; done && chmod -R a+rX .compiled

# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
ENV NODE_ENV=production PORTICO_PROFILE=production HOST=0.0.0.0 PORT=8080 OPS_PORT=9090 PORTICO_DATA_DIR=/data
# The one place that is written to: the embedded store and uploaded files. On PostgreSQL and S3 nothing is.
VOLUME /data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT}/health/ready`).then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "bin/portico.js"]
CMD ["serve"]
