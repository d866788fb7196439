# A JupyterLab with the chapters, for a class: docker build -t transformer . && docker run -p 8888:8888 transformer
# For a JupyterHub, let the image bring the version of the hub: docker build --build-arg HUB=jupyterhub==5.4.0 .
FROM python:3.11-slim
ARG HUB=""
WORKDIR /srv/book
COPY .binder/requirements.txt .binder/
COPY requirements.txt requirements-book.txt constraints.txt ./
RUN pip install --no-cache-dir -r .binder/requirements.txt \
 && uv pip install --system --no-cache --torch-backend=cpu -r requirements.txt $HUB

# A user without rights, as the spawners of JupyterHub expect, and a copy of the chapters that the user can change.
RUN useradd --create-home --uid 1000 jovyan
USER jovyan
WORKDIR /home/jovyan
COPY --chown=jovyan LICENSE notation.md ./
COPY --chown=jovyan chapters chapters
RUN jupyter trust chapters/*.ipynb
EXPOSE 8888
CMD ["jupyter", "lab", "--ip=0.0.0.0", "--no-browser"]
