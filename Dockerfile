# Installs and builds every package and the page as `npm start` does, then leaves out what only building and testing needs.
FROM node:20-slim AS build
WORKDIR /millrace
COPY . .
RUN npm run build && npm prune --omit=dev --no-audit --no-fund

FROM node:20-slim
ENV NODE_ENV=production
WORKDIR /millrace
COPY --from=build --chown=node:node /millrace /millrace
RUN mkdir /data && chown node:node /data
# Where the embedded database is without DATABASE_URL, and where relative paths begin.
WORKDIR /data
VOLUME /data
USER node
EXPOSE 3000
HEALTHCHECK --interval=5s --timeout=3s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health/ready`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/millrace/apps/server/dist/cli/millrace.js"]
CMD ["start"]
