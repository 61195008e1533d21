# One image for every process of hermes-jobs: docker-compose.yml says which command each service runs.

FROM python:3.13-slim AS build

WORKDIR /source
COPY pyproject.toml README.md LICENSE CHANGELOG.md ./
COPY hermes_jobs hermes_jobs
COPY workers workers
COPY schedules schedules
RUN python -m venv /opt/hermes-jobs \
    && /opt/hermes-jobs/bin/pip install --no-cache-dir '.[postgres,telegram]'

FROM python:3.13-slim

# What an agent's commands expect to find.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl git procps \
    && rm -rf /var/lib/apt/lists/*

# Volumes that are mounted here begin with these owners and modes.
RUN useradd --create-home --uid 1000 hermes \
    && install --directory --owner hermes --group hermes --mode 700 /home/hermes/.hermes-jobs \
    && install --directory --owner hermes --group hermes /work

COPY --from=build /opt/hermes-jobs /opt/hermes-jobs
ENV PATH=/opt/hermes-jobs/bin:$PATH \
    HERMES_JOBS_HOME=/home/hermes/.hermes-jobs \
    PYTHONUNBUFFERED=1

USER hermes
WORKDIR /work
STOPSIGNAL SIGTERM
ENTRYPOINT ["hermes-jobs"]
CMD ["--help"]
