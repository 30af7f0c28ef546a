# The gateway, and `portico serve --role domains`, as one image: Node, the sources as they run, and what they need at run
# time. docs/production.md says how to run it; scripts/test-image.sh builds and runs it without an engine.
ARG BASE=docker.io/library/node:26.10.0-bookworm-slim

# What the sources import, exactly as locked; no package's script runs.
FROM ${BASE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
 # Peers that some packages name for their types alone.
 && rm -rf node_modules/typescript node_modules/@typescript

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
COPY src ./src
# What Node makes of the sources when it loads them, made once: it starts sooner and takes less memory.
ENV NODE_COMPILE_CACHE=/app/.compiled
# What a start loads only where it is used counts too.
RUN node bin/portico.js --help >/dev/null \
 && for part in platform/redis/client platform/database/postgres platform/database/embedded backends/upstream; do \
      node --input-type=module -e "await import('/app/src/$part.ts')" || exit 1; done \
 && chmod -R a+rX .compiled

# A number, so that Kubernetes can see that it is not root.
USER 10001:10001
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 OPS_PORT=9090 PORTICO_DATA_DIR=/data
# The one place that is written to: the embedded store and uploaded files. On PostgreSQL and S3 nothing is.
VOLUME /data
EXPOSE 8080 9090
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT}/health/ready`).then((r)=>process.exit(r.ok?0:1),()=>process.exit(1))"]
ENTRYPOINT ["node", "bin/portico.js"]
CMD ["serve"]
