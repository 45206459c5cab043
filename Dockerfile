# The image of Kinora, for every role. `npm run image` builds it, and docs/deploy.md says how to run it.
ARG NODE_IMAGE=docker.io/library/node:24-trixie-slim
ARG DEBIAN_IMAGE=docker.io/library/debian:trixie-slim

# The package as npm publishes it, and its dependencies in the versions of package-lock.json.
FROM ${NODE_IMAGE} AS package
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY web/package.json web/
RUN npm ci --ignore-scripts
COPY . .
RUN npm pack --loglevel=error
WORKDIR /opt/kinora
# Without web/package.json, npm does not install the packages of the workspace, which only the build needs.
RUN tar -xzf /build/kinora-*.tgz --strip-components=1 \
 && cp /build/package-lock.json /build/.npmrc . \
 && npm ci --omit=dev --ignore-scripts \
 && sh /build/scripts/image/prepare-package.sh

# Programs from Debian with the libraries that they need. Its package of ffmpeg depends on twice as much.
FROM ${DEBIAN_IMAGE} AS programs
RUN dpkg-query -W > /base-packages \
 && apt-get update \
 && apt-get install -y --no-install-recommends binutils ca-certificates ffmpeg libnss-wrapper tini
COPY --from=package /usr/local/bin/node /programs/usr/local/bin/node
COPY scripts/image/copy-programs.sh /
RUN sh /copy-programs.sh /programs

FROM ${DEBIAN_IMAGE}
COPY --from=programs /programs /
COPY --from=package /opt/kinora /opt/kinora
# OpenShift runs containers as any user of the group 0.
RUN ldconfig \
 && ln -s /opt/kinora/bin/kinora.mjs /usr/local/bin/kinora \
 && useradd --uid 10001 --user-group --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin kinora \
 && install -d -o kinora -g 0 -m 0770 /data
ENV KINORA_DATA_DIR=/data KINORA_HOST=0.0.0.0
USER 10001:10001
VOLUME /data
EXPOSE 8080 1935 1936 6200/udp 8189/udp
# Only whether the process responds: a restart does not repair a database. The first start of a large database may have to
# replay its log.
HEALTHCHECK --interval=15s --timeout=30s --start-period=5m --retries=4 CMD ["kinora", "health", "--alive"]
# tini passes signals on from the first moment, and reaps processes that lost their parent. The first process of a
# container has to do both.
ENTRYPOINT ["tini", "--", "kinora"]
CMD ["start"]
